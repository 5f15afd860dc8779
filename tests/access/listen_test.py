#!/usr/bin/env python3
"""placetd does not listen openly unless it is told twice, and says who its clients are."""
import subprocess

from access_rig import AccessRig, Client
from rig import RestClient, free_ports
from tap import SLOW, case, equal, fail, has, main


class ListenRig(AccessRig):
    """Runs placetd with other options in each case."""

    def up(self):
        self.start_etcd()

    def refuses(self, *options, with_words):
        done = subprocess.run([self.placetd, "--etcd", self.endpoint, "--name", "x", *options],
                              capture_output=True, text=True, check=False, timeout=20 * SLOW)
        if done.returncode == 0:
            fail(f"placetd {options} must not start")
        has(done.stderr, *with_words)

    def serves(self, name, *options):
        self.options = list(options)
        return self.start_placetd(name)

    def tls(self):
        return ["--api-cert", self.keys.path("server.pem"), "--api-key",
                self.keys.path("server.key")]


@case()
def an_open_address_is_refused(rig):
    for address in ("0.0.0.0:0", "[::]:0"):
        rig.refuses("--api-listen", address, with_words=[address])
        rig.refuses("--api-listen", address, *rig.tls(), with_words=[address])
        rig.refuses("--api-listen", address, "--api-client-ca", rig.keys.path("ca.pem"),
                    with_words=["--api-c"])
        rig.refuses("--api-listen", address, "--api-token-file", str(rig.token_file),
                    with_words=[address])
        rig.refuses("--api-listen", address, "--api-insecure", "127.0.0.1:0",
                    with_words=["--api-insecure"])


@case(seconds=60)
def told_twice_it_listens_and_trusts_none(rig):
    """The rig's own address comes first; the later one wins."""
    port = free_ports(1)[0]
    got = rig.serves("placetd-open", "--api-listen", f"0.0.0.0:{port}", "--api-insecure",
                     f"0.0.0.0:{port}")
    client = RestClient(got)
    equal(client.raw("GET", "/livez")[0], 200)
    equal(client.raw("GET", "/api/v1/nodes")[0], 401)


@case(seconds=60)
def on_loopback_it_says_so(rig):
    client = RestClient(rig.serves("placetd-local"))
    equal(client.raw("GET", "/api/v1/nodes")[0], 200)
    has(rig.log("placetd-local").read_text(), '"event":"api.open"')


@case(seconds=60)
def with_credentials_loopback_is_no_credential(rig):
    rig.port = rig.serves("placetd-known", *rig.tls(), "--api-client-ca", rig.keys.path("ca.pem"))
    equal(Client(rig).status("GET", "/api/v1/nodes")[0], 401)
    equal(Client(rig, certificate="root").status("GET", "/api/v1/nodes")[0], 200)
    equal(Client(rig, certificate="ann").status("GET", "/api/v1/nodes")[0], 403)


@case()
def an_audit_log_that_can_not_be_written_is_an_error(rig):
    rig.refuses("--api-listen", "127.0.0.1:0", "--audit-log", "/nowhere/at/all/audit.log",
                with_words=["/nowhere/at/all/audit.log", "No such file"])


if __name__ == "__main__":
    main(ListenRig)
