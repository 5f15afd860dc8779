#!/usr/bin/env python3
"""kubectl with each kind of credential: auth can-i, also with --as and --list, and whoami."""
import base64
import json
import os
import subprocess

from access_rig import TOKENS, AccessRig
from rig import configmap, die_with_parent
from kubectl import REQUIRED, clients_folder
from tap import SLOW, Skip, case, equal, fail, has, has_not, main


class KubectlAccess(AccessRig):
    def __init__(self):
        self.version = os.environ.get("KUBECTL", "1.35")
        self.minor = int(self.version.split(".")[1])
        self.program = str(clients_folder() / f"kubectl-{self.version}" / "kubectl")
        if not os.access(self.program, os.X_OK):
            if self.version in REQUIRED:
                print(f"1..1\nnot ok 1 - kubectl_{self.version}\n# {self.program} is missing: "
                      "run tests/clients/install")
                raise SystemExit(1)
            raise Skip(f"kubectl {self.version} is not there: tests/clients/install --all")
        super().__init__()

    def kubectl(self, user, command, given="", **kind):
        """Runs kubectl as a user that shows a certificate or a token; (status, out, err)."""
        with open(self.keys.path("ca.pem"), "rb") as file:
            authority = base64.b64encode(file.read()).decode()
        credential = {"token": kind["token"]} if "token" in kind else {
            "client-certificate": self.keys.path(f"{user}.pem"),
            "client-key": self.keys.path(f"{user}.key")} if kind.get("shows", True) else {}
        config = self.dir / f"kubeconfig-{user}"
        config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": f"https://127.0.0.1:{self.port}",
                "certificate-authority-data": authority}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": user,
                                                   "namespace": "shop"}}],
            "users": [{"name": user, "user": credential}]}))
        done = subprocess.run(
            [self.program, *command.split()], input=given, text=True, capture_output=True,
            env={"HOME": str(self.dir / f"home-{user}"), "KUBECONFIG": str(config),
                 "PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C"},
            timeout=20 * SLOW, check=False, preexec_fn=die_with_parent)
        return done.returncode, done.stdout, done.stderr

    def ok(self, user, command, given="", **kind):
        status, out, err = self.kubectl(user, command, given, **kind)
        if status != 0:
            fail(f"kubectl {command} as {user}: {status}\n{out}{err}")
        return out

    def fails(self, user, command, given="", **kind):
        status, out, err = self.kubectl(user, command, given, **kind)
        if status == 0:
            fail(f"kubectl {command} as {user} must fail\n{out}")
        return out + err

    def can_i(self, user, command, **kind):
        status, out, err = self.kubectl(user, f"auth can-i {command}", **kind)
        word = out.strip().split(" ")[0]
        if word not in ("yes", "no") or (status == 0) != (word == "yes"):
            fail(f"can-i {command}: {status} {out}{err}")
        return word


@case(seconds=60)
def each_kind_of_credential(k):
    k.root.post("/api/v1/namespaces/shop/configmaps", configmap("seen"))
    has(k.ok("ann", "get configmaps"), "seen")
    has(k.ok("vera", "get configmaps", token=TOKENS["vera"]), "seen")
    has(k.ok("sam", "get configmaps", token=k.keys.signed_token("sam")), "seen")
    issued = k.placet_cli("token", "create", "ci", "--user", "ci-bot", "--expires", "1h").strip()
    k.until(lambda: k.kubectl("bot", "get configmaps", token=issued)[0] == 0,
            "the issued token is known")
    has(k.fails("carl", "get configmaps"),
        'configmaps is forbidden: User "carl" cannot list resource "configmaps" in API group "" '
        'in the namespace "shop"')
    for token in ("wrong", "a.b.c", k.keys.signed_token("sam", lasts=-600)):
        has(k.fails("x", "get configmaps", token=token), "You must be logged in to the server")


@case(seconds=60)
def what_may_i(k):
    for question, answer in {
            "create pods": "yes", "delete deployments": "yes", "get pods -n other": "no",
            "list pods --all-namespaces": "no", "create pods --subresource=eviction": "yes",
            "create pods --subresource=binding": "no", "list nodes": "no", "create nodes": "no",
            "get /metrics": "no", "get /api": "yes", "* *": "no",
            "update configs.placet.io/access": "no", "impersonate users": "no"}.items():
        equal((question, k.can_i("ann", question)), (question, answer))
    for question, answer in {"list nodes": "yes", "list pods --all-namespaces": "yes",
                             "create pods": "no", "list tokens.placet.io": "no"}.items():
        equal((question, k.can_i("vera", question, token=TOKENS["vera"])), (question, answer))
    for question, answer in {"patch nodes": "yes", "update configs.placet.io/coord": "yes",
                             "update configs.placet.io/access": "no", "get /metrics": "yes",
                             "impersonate users": "no"}.items():
        equal((question, k.can_i("op", question, token=TOKENS["op"])), (question, answer))
    equal(k.can_i("root", "* *"), "yes")
    equal(k.can_i("root", "update configs.placet.io/access"), "yes")


@case(seconds=60)
def what_may_another(k):
    """--as is the admin's."""
    equal(k.can_i("root", "create pods --as ann"), "no")
    equal(k.can_i("root", "create pods --as ann --as-group team"), "yes")
    equal(k.can_i("root", "create pods -n other --as ann --as-group team"), "no")
    has(k.fails("root", "get nodes --as ann --as-group team"),
        'nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the '
        'cluster scope')
    has(k.fails("ann", "auth can-i create pods --as root"),
        'users "root" is forbidden: User "ann" cannot impersonate resource "users" in API group '
        '"" at the cluster scope')


@case(seconds=60)
def all_that_i_may(k):
    listed = k.ok("ann", "auth can-i --list")
    rows = {line.split()[0] for line in listed.splitlines()[1:] if line}
    for resource in ("pods", "pods/eviction", "deployments.apps", "namespaces",
                     "selfsubjectaccessreviews.authorization.k8s.io"):
        if resource not in rows:
            fail(f"no {resource} in\n{listed}")
    has_not(listed, "nodes", "tokens", "*.*", "/metrics")
    other = k.ok("ann", "auth can-i --list -n other")
    has_not(other, "pods", "deployments")
    has(k.ok("root", "auth can-i --list"), "*.*")


@case(seconds=60)
def who_am_i(k):
    if k.minor < 28:
        return
    said = k.ok("ann", "auth whoami")
    has(said, "ann", "[team system:authenticated]")
    has(k.ok("vera", "auth whoami", token=TOKENS["vera"]), "vera", "uid-vera")
    has(k.ok("sam", "auth whoami", token=k.keys.signed_token("sam")), "jwt:sam")
    has(k.ok("root", "auth whoami --as ann --as-group team"), "ann")


@case(seconds=60)
def an_editor_works_in_her_namespace(k):
    deployment = json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    k.ok("ann", "apply -f -", deployment)
    has(k.ok("ann", "get deployments"), "web")
    k.ok("ann", "scale deployment web --replicas=3")
    k.ok("ann", "label deployment web x=y")
    has(k.fails("ann", "apply -n other -f -", deployment), "forbidden")
    has(k.fails("ann", "get nodes"), "forbidden")
    has(k.fails("ann", "cordon n1"), "forbidden")
    has(k.fails("ann", "get pods --all-namespaces"), "at the cluster scope")
    has(k.fails("vera", "delete deployment web", token=TOKENS["vera"]),
        'deployments.apps "web" is forbidden: User "vera" cannot delete resource "deployments" '
        'in API group "apps" in the namespace "shop"')
    k.ok("ann", "delete deployment web")


if __name__ == "__main__":
    main(KubectlAccess)
