"""A placetd whose clients are told apart: TLS, an authority for client certificates, static
tokens, signed tokens, issued tokens, an audit log. Users of the rig:

    root    a certificate with the group system:masters
    ann     a certificate with the group team; editor in the namespace shop
    vera    a static token; viewer
    op      a static token with the group ops; operator
    sam     a signed token (RS256); viewer, as jwt:sam
    flood   a static token; viewer
"""
import base64
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

from rig import RestClient, Rig, await_line  # noqa: E402
from tap import SLOW, fail  # noqa: E402

TOKENS = {"vera": "vera-static-token", "op": "op-static-token", "flood": "flood-static-token",
          "bob": "bob-static-token"}
ISSUER, AUDIENCE = "https://id.example.com", "placet"
BINDINGS = [
    {"role": "editor", "groups": ["team"], "namespaces": ["shop"]},
    {"role": "viewer", "users": ["vera", "flood", "jwt:sam", "ci-bot"]},
    {"role": "operator", "groups": ["ops"]},
]


def openssl(*args, cwd, given=None):
    done = subprocess.run(["openssl", *args], cwd=cwd, input=given, capture_output=True,
                          check=False)
    if done.returncode != 0:
        fail(f"openssl {args}: {done.stderr.decode()}")
    return done.stdout


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Keys:
    """An authority with certificates of the server and of clients, and a key of signed tokens."""

    def __init__(self, folder):
        self.dir = folder
        folder.mkdir()
        self.authority("ca")
        self.authority("other-ca")
        self.certificate("server", "/CN=placetd", extra="subjectAltName=IP:127.0.0.1")
        openssl("genrsa", "-out", "jwt.key", "2048", cwd=folder)
        modulus = openssl("rsa", "-in", "jwt.key", "-modulus", "-noout", cwd=folder)
        number = bytes.fromhex(modulus.decode().strip().split("=")[1])
        (folder / "jwks.json").write_text(json.dumps({"keys": [
            {"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig", "n": base64url(number),
             "e": "AQAB"}]}))

    def path(self, name):
        return str(self.dir / name)

    def authority(self, name):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "30",
                "-subj", f"/CN={name}", cwd=self.dir)

    def certificate(self, name, subject, authority="ca", extra="extendedKeyUsage=clientAuth"):
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject, cwd=self.dir)
        (self.dir / f"{name}.ext").write_text(extra + "\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey",
                f"{authority}.key", "-CAcreateserial", "-out", f"{name}.pem", "-days", "30",
                "-extfile", f"{name}.ext", cwd=self.dir)

    def signed_token(self, subject, lasts=3600, **more):
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": now,
                  "exp": now + lasts, **more}
        head = {"alg": "RS256", "kid": "k1", "typ": "JWT"}
        text = ".".join(base64url(json.dumps(part).encode()) for part in (head, claims))
        signature = openssl("dgst", "-sha256", "-sign", "jwt.key", cwd=self.dir,
                            given=text.encode())
        return f"{text}.{base64url(signature)}"


class Client(RestClient):
    """Requests with a credential: a certificate, or a token, or none."""

    def __init__(self, rig, certificate=None, token=None, headers=None):
        super().__init__(rig.port)
        self.headers = dict(headers or {})
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"
        self.tls = ssl.create_default_context(cafile=rig.keys.path("ca.pem"))
        if certificate is not None:
            self.tls.load_cert_chain(rig.keys.path(f"{certificate}.pem"),
                                     rig.keys.path(f"{certificate}.key"))

    def connection(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls,
                                                 timeout=30 * SLOW)
        request = connection.request
        connection.request = lambda method, path, body=None, headers=None, **more: request(
            method, path, body, {**self.headers, **(headers or {})}, **more)
        return connection

    def status(self, method, path, body=None, kind="application/json"):
        """(HTTP status, the answer's JSON or text)"""
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        code, _, text = self.raw(method, path, body, headers)
        try:
            return code, json.loads(text)
        except ValueError:
            return code, text.decode(errors="replace")


class AccessRig(Rig):
    def __init__(self):
        super().__init__()
        self.keys = Keys(self.dir / "keys")
        for user, groups in (("root", ["system:masters"]), ("ann", ["team"]), ("carl", [])):
            self.keys.certificate(user, "".join(f"/O={g}" for g in groups) + f"/CN={user}")
        self.keys.certificate("mallory", "/O=system:masters/CN=mallory", authority="other-ca")
        self.token_file = self.dir / "tokens.csv"
        self.write_tokens(TOKENS)
        self.audit_file = self.dir / "audit.log"
        self.options = [
            "--api-cert", self.keys.path("server.pem"), "--api-key", self.keys.path("server.key"),
            "--api-client-ca", self.keys.path("ca.pem"),
            "--api-token-file", str(self.token_file),
            "--api-jwt-issuer", ISSUER, "--api-jwt-audience", AUDIENCE,
            "--api-jwt-jwks", self.keys.path("jwks.json"),
            "--audit-log", str(self.audit_file)]

    def write_tokens(self, tokens):
        """Replaced in one step, so that no half of it is read."""
        groups = {"op": '"ops"'}
        fresh = self.dir / "tokens.new"
        fresh.write_text("".join(f"{token},{user},uid-{user},{groups.get(user, '')}\n"
                                 for user, token in tokens.items()))
        os.chmod(fresh, 0o600)
        os.replace(fresh, self.token_file)

    def up(self):
        super().up()
        self.root = Client(self, certificate="root")
        self.ann = Client(self, certificate="ann")
        self.vera = Client(self, token=TOKENS["vera"])
        self.op = Client(self, token=TOKENS["op"])
        self.api = self.root
        for name in ("shop", "other"):
            self.root.post("/api/v1/namespaces", {"metadata": {"name": name}})
        self.bind(BINDINGS)

    def bind(self, bindings, **limits):
        """Sets the configuration "access"; it counts once this has returned."""
        self.root.patch("/apis/placet.io/v1/configs/access",
                        {"spec": {"bindings": bindings, "limits": limits}})

    def enter(self, name):
        return None if name == "the_server_ends_in_order" else self

    def placet_cli(self, *args):
        done = subprocess.run([self.placet, *args, "--endpoints", self.endpoint],
                              capture_output=True, text=True, check=False, timeout=30 * SLOW)
        if done.returncode != 0:
            fail(f"placet {args}: {done.stderr}")
        return done.stdout

    # -- the audit

    def audit_lines(self, after=0):
        return [json.loads(line) for line in
                self.audit_file.read_text().splitlines()[after:]]

    def audit_of(self, audit_id):
        """The line of a call, once it is there: lines are written a moment later."""
        def found(text):
            line = json.loads(text)
            return line if line.get("id") == audit_id else None

        return await_line(self.audit_file, self.processes["placetd"], found)
