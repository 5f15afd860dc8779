#!/usr/bin/env python3
"""What a running process tells of itself, and whom: health, options, profiles, its log."""
import json
import shutil
import signal
import subprocess
import threading

from access_rig import TOKENS, AccessRig, Client
from rig import await_line
from tap import case, equal, fail, has, main


class IntrospectRig(AccessRig):
    def up(self):
        super().up()
        self.operator = Client(self, token=TOKENS["op"])

    def event(self, name, behind=0):
        """Waits until placetd has logged the event."""
        def found(line):
            try:
                return json.loads(line).get("event") == name or None
            except ValueError:
                return None

        if not await_line(self.log("placetd"), self.processes["placetd"], found, behind=behind):
            fail(f"placetd has not logged {name}")

    def logged(self):
        return self.log("placetd").stat().st_size

    def checks(self, path, client=None):
        code, text = (client or self.operator).status("GET", path)
        return code, dict(line[3:].split(" ", 1) for line in text.splitlines()
                          if line[:3] in ("[+]", "[-]"))


@case(seconds=120)
def readiness_tells_the_truth(rig):
    code, checks = rig.checks("/readyz?verbose")
    equal((code, set(checks.values())), (200, {"ok"}))
    equal(sorted(checks), ["informers", "ping", "shard/placetd-0", "shard/placetd-1",
                           "shutdown", "store"])

    behind = rig.logged()
    rig.processes["etcd"].send_signal(signal.SIGSTOP)
    try:
        rig.event("shard.down", behind)
        code, checks = rig.checks("/readyz")
        strangers = rig.checks("/readyz", Client(rig))
    finally:
        rig.processes["etcd"].send_signal(signal.SIGCONT)
    equal(code, 500)
    has(checks["store"], "failed: the store has not answered for")
    has(checks["shard/placetd-0"] + checks["shard/placetd-1"], "failed: the shard")
    equal((strangers[0], strangers[1]["store"]), (500, "failed: reason withheld"))
    equal(rig.checks("/livez?verbose"), (200, {"ping": "ok", "loop/placetd-0": "ok",
                                               "loop/placetd-1": "ok"}))
    rig.until(lambda: rig.checks("/readyz")[0] == 200, "it is ready again", 40)


@case()
def only_operators_look_inside(rig):
    for path in ("/configz", "/statusz", "/metrics", "/debug/", "/debug/log-level",
                 "/debug/access-log", "/debug/pprof/profile?seconds=1"):
        equal(Client(rig).status("GET", path)[0], 401, path)
        equal(Client(rig, token=TOKENS["vera"]).status("GET", path)[0], 403, path)
        equal(Client(rig, certificate="ann").status("GET", path)[0], 403, path)
        equal(rig.operator.status("GET", path)[0], 200, path)
    equal(Client(rig, token=TOKENS["vera"]).status("PUT", "/debug/log-level", "debug")[0], 403)


@case()
def options_are_told_without_secrets(rig):
    text = json.dumps(rig.operator.status("GET", "/configz")[1])
    has(text, "api_token_file", "--api-token-file")
    for token in TOKENS.values():
        if token in text:
            fail("a token is shown")


@case()
def the_level_of_the_log_changes(rig):
    equal(rig.operator.status("GET", "/debug/log-level"), (200, "info"))
    equal(rig.operator.status("PUT", "/debug/log-level", "loud")[0], 400)
    equal(rig.operator.status("PUT", "/debug/log-level", "debug")[0], 200)
    equal(rig.operator.status("GET", "/debug/log-level"), (200, "debug"))
    rig.operator.status("PUT", "/debug/log-level", "info")
    rig.event("log.level")


@case()
def requests_are_logged_when_an_operator_wants_it(rig):
    behind = rig.logged()
    equal(rig.operator.status("PUT", "/debug/access-log", "on")[0], 200)
    _, headers, _ = Client(rig, token=TOKENS["vera"]).raw(
        "GET", "/api/v1/nodes?limit=1&x=%0Aforged", headers={"Accept": "application/json"})
    equal(rig.operator.status("PUT", "/debug/access-log", "off")[0], 200)
    rig.event("log.access", behind)
    lines = [json.loads(line) for line in rig.log("placetd").read_text()[behind:].splitlines()]
    lines = [line for line in lines if line["event"] == "api.request"]
    mine = [line for line in lines if line["user"] == "vera"]
    equal(len(mine), 1)
    equal((mine[0]["id"], mine[0]["method"], mine[0]["path"]),
          (headers["Audit-Id"], "GET", "/api/v1/nodes"))
    if any(token in json.dumps(lines) for token in TOKENS.values()):
        fail("a token is in the log")


@case(seconds=60)
def a_profile_is_read_by_pprof(rig):
    over = threading.Event()

    def load():
        client = Client(rig, token=TOKENS["op"])
        while not over.is_set():
            client.raw("GET", "/openapi/v3/api/v1")

    thread = threading.Thread(target=load)
    thread.start()
    try:
        code, headers, profile = rig.operator.raw("GET", "/debug/pprof/profile?seconds=2")
        equal(rig.operator.status("GET", "/debug/pprof/profile?seconds=301")[0], 400)
    finally:
        over.set()
        thread.join()
    equal((code, headers["content-type"]), (200, "application/octet-stream"))
    pprof = shutil.which("google-pprof")
    if pprof is None:
        fail("google-pprof is not installed")
    path = rig.dir / "profile"
    path.write_bytes(profile)
    text = subprocess.run([pprof, "--text", rig.placetd, str(path)], capture_output=True,
                          text=True, check=True).stdout
    has(text, "Total:", "uv_run")


@case(seconds=60)
def a_client_that_leaves_ends_its_profile(rig):
    client = Client(rig, token=TOKENS["op"])
    connection = client.connection()
    connection.request("GET", "/debug/pprof/profile?seconds=300")
    behind = rig.operator
    rig.until(lambda: behind.status("GET", "/debug/pprof/profile?seconds=1")[0] == 409,
              "a profile is taken")
    connection.close()
    rig.until(lambda: behind.status("GET", "/debug/pprof/profile?seconds=1")[0] == 200,
              "the next profile is taken", 30)


if __name__ == "__main__":
    main(IntrospectRig)
