#!/usr/bin/env python3
"""Rights over a real server: what is refused, what ends, what the audit tells."""
import statistics
import threading
import time

from access_rig import BINDINGS, TOKENS, AccessRig, Client
from rig import configmap, node, pod
from tap import SLOW, case, equal, fail, has, main

SHOP, OTHER = "/api/v1/namespaces/shop", "/api/v1/namespaces/other"
PLACET = "/apis/placet.io/v1"


class DeniedRig(AccessRig):
    def up(self):
        super().up()
        self.root.post("/api/v1/nodes", node("n1"))
        self.root.post(f"{OTHER}/configmaps", configmap("hidden", {"key": "value"}))
        self.root.post(f"{OTHER}/pods", pod("hidden", schedulerName="none"))


def attempts():
    """What an editor of the namespace shop must not do: (method, path, body)."""
    things = [("", "v1", kind) for kind in (
        "configmaps", "events", "persistentvolumeclaims", "pods", "podtemplates",
        "replicationcontrollers", "serviceaccounts", "services")]
    things += [("apps", "v1", kind) for kind in (
        "daemonsets", "deployments", "replicasets", "statefulsets")]
    things += [("batch", "v1", "jobs"), ("batch", "v1", "cronjobs"),
               ("policy", "v1", "poddisruptionbudgets"),
               ("coordination.k8s.io", "v1", "leases"), ("events.k8s.io", "v1", "events")]
    for group, version, kind in things:
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        other = f"{root}/namespaces/other/{kind}"
        yield "GET", f"{root}/{kind}", None
        yield "GET", f"{root}/{kind}?watch=true", None
        yield "GET", other, None
        yield "GET", f"{other}?watch=1&fieldSelector=metadata.namespace%3Dshop", None
        yield "GET", f"{other}/hidden", None
        yield "POST", other, {"metadata": {"name": "mine"}}
        yield "DELETE", f"{other}/hidden", None
        yield "PATCH", f"{other}/hidden", {"metadata": {"labels": {"a": "b"}}}
        yield "DELETE", other, None
    for kind in ("nodes", "persistentvolumes", "namespaces"):
        yield "GET", f"/api/v1/{kind}", None
        yield "GET", f"/api/v1/{kind}?watch=true", None
        yield "POST", f"/api/v1/{kind}", {"metadata": {"name": "mine"}}
    yield "PATCH", "/api/v1/nodes/n1", {"spec": {"unschedulable": True}}
    yield "PATCH", "/api/v1/nodes/n1/status", {"status": {}}
    yield "DELETE", "/api/v1/nodes/n1", None
    yield "DELETE", "/api/v1/namespaces/other", None
    yield "DELETE", "/api/v1/namespaces/shop", None
    yield "PUT", "/api/v1/namespaces/shop/finalize", {"metadata": {"name": "shop"}}
    yield "PATCH", "/api/v1/namespaces/shop", {"metadata": {"labels": {"a": "b"}}}
    yield "POST", f"{SHOP}/pods/p/binding", {"target": {"name": "n1"}}
    yield "POST", f"{SHOP}/bindings", {"metadata": {"name": "p"}, "target": {"name": "n1"}}
    yield "POST", f"{OTHER}/pods/hidden/eviction", {"metadata": {"name": "hidden"}}
    yield "PATCH", f"{SHOP}/pods/p/status", {"status": {"phase": "Succeeded"}}
    yield "POST", f"{SHOP}/pods/p/exec?command=sh", None
    yield "GET", f"{SHOP}/pods/p/exec?command=sh", None
    yield "POST", f"{SHOP}/serviceaccounts/default/token", {}
    for group, kind in (("storage.k8s.io/v1", "storageclasses"),
                        ("scheduling.k8s.io/v1", "priorityclasses"),
                        ("rbac.authorization.k8s.io/v1", "clusterrolebindings"),
                        ("rbac.authorization.k8s.io/v1", "clusterroles"),
                        ("certificates.k8s.io/v1", "certificatesigningrequests"),
                        ("apiextensions.k8s.io/v1", "customresourcedefinitions")):
        yield "GET", f"/apis/{group}/{kind}", None
        yield "POST", f"/apis/{group}/{kind}", {"metadata": {"name": "mine"}}
    yield "GET", "/api/v1/secrets", None
    yield "GET", f"{OTHER}/secrets/s", None
    yield "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings", {}
    for kind in ("clusters", "shards", "partitions", "configs", "tokens", "gangs", "policies"):
        yield "GET", f"{PLACET}/{kind}", None
        yield "GET", f"{PLACET}/{kind}/x", None
        yield "PUT", f"{PLACET}/{kind}/x", {}
    yield "PATCH", f"{PLACET}/configs/access", {"spec": {"bindings": []}}
    yield "POST", f"{PLACET}/tokens", {"spec": {"user": "root", "groups": ["system:masters"]}}
    yield "GET", f"{PLACET}/namespaces/other/explanations/hidden", None
    yield "POST", f"{PLACET}/namespaces/other/plans", {"spec": {"objects": []}}
    yield "POST", f"{PLACET}/plans", {"spec": {"objects": []}}
    yield "POST", f"{PLACET}/namespaces/shop/plans", {"spec": {"objects": [
        {"apiVersion": "v1", **pod("hidden"), "metadata": {
            "name": "hidden", "namespace": "other"}}]}}
    yield "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}
    yield "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {}}
    yield "POST", "/apis/authorization.k8s.io/v1/namespaces/other/localsubjectaccessreviews", {}
    for path in ("/metrics", "/configz", "/statusz", "/debug", "/debug/pprof/profile?seconds=1",
                 "/debug/log-level", "/logs", "/x"):
        yield "GET", path, None
    yield "PUT", "/debug/log-level", "debug"
    for spelled in ("/api/v1/namespaces/%6fther/pods", "/api/v1/namespaces/shop/../other/pods",
                    "/api/v1//namespaces/other/pods", "/api/v1/namespaces/other%2fpods",
                    "/api/v1/namespaces//pods", "/api/v1/namespaces/shop%2f..%2fother/pods",
                    "/api/v1/watch/namespaces/other/pods", "/api/v1/proxy/nodes/n1",
                    "/apis/v1/namespaces/other/pods", "/api/v1/namespaces/other/pods/"):
        yield "GET", spelled, None


@case(seconds=60)
def an_editor_of_a_namespace_and_what_is_not_hers(rig):
    """Each attempt is a 403, or a path that is nothing: and nothing is shown or changed."""
    tried = 0
    for method, path, body in attempts():
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        code, answer = rig.ann.status(method, path, body, kind)
        if code != 403:
            fail(f"{method} {path}: {code} {answer}")
        equal((answer["reason"], answer["status"], answer["code"]), ("Forbidden", "Failure", 403))
        if "the user may not list" not in answer["message"]:
            has(answer["message"], 'User "ann" cannot')
        tried += 1
    if tried < 200:
        fail(f"only {tried} attempts")
    equal(rig.root.get(f"{OTHER}/configmaps/hidden")["data"], {"key": "value"})
    equal([c["metadata"]["name"] for c in rig.root.get(f"{OTHER}/pods")["items"]], ["hidden"])
    equal(rig.root.get("/api/v1/nodes/n1")["spec"].get("unschedulable"), None)
    equal(rig.root.get("/api/v1/namespaces/shop")["status"]["phase"], "Active")


@case()
def what_is_hers_she_may(rig):
    rig.ann.post(f"{SHOP}/configmaps", configmap("hers"))
    rig.ann.post(f"{SHOP}/pods", pod("hers", schedulerName="none"))
    rig.ann.patch(f"{SHOP}/configmaps/hers", {"data": {"a": "b"}})
    equal(rig.ann.get("/api/v1/namespaces/shop")["metadata"]["name"], "shop")
    rig.ann.post(f"{SHOP}/pods/hers/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "hers"}})
    rig.ann.delete(f"{SHOP}/configmaps/hers")


@case()
def credentials_that_are_not_good(rig):
    """The same 401 for each; the cause is in the audit alone."""
    good = rig.keys.signed_token("sam")
    bad = {"an unknown token": "nobody-knows-it", "an empty one": "", "no JWT": "a.b.c",
           "a changed one": good[:-6] + "AAAAAA", "one that has expired":
               rig.keys.signed_token("sam", lasts=-600),
           "another audience": rig.keys.signed_token("sam", aud="else"),
           "another issuer": rig.keys.signed_token("sam", iss="https://else"),
           "an issued one that is not there": "placet.gone." + "A" * 43}
    causes = set()
    for what, token in bad.items():
        code, headers, text = Client(rig, token=token).raw("GET", f"{SHOP}/pods")
        equal((what, code), (what, 401))
        has(text.decode(), '"message":"Unauthorized"')
        line = rig.audit_of(headers["Audit-Id"])
        equal((line["code"], line["resource"], line["namespace"]), (401, "pods", "shop"))
        if token and token in str(line):
            fail(f"the audit shows a token: {line}")
        causes.add(line["reason"])
    if len(causes) < 4:
        fail(f"the audit tells causes apart: {causes}")
    equal(Client(rig).status("GET", "/api")[0], 401)
    equal(Client(rig).status("GET", "/livez")[0], 200)
    equal(rig.ann.status("GET", f"{SHOP}/pods")[0], 200)
    equal(Client(rig, token=good).status("GET", f"{OTHER}/pods")[0], 200)


@case()
def a_certificate_of_another_authority(rig):
    """It says system:masters, and is worth nothing."""
    try:
        code = Client(rig, certificate="mallory").status("GET", "/api")[0]
    except OSError:
        return  # refused before a request
    equal(code, 401)


@case()
def impersonation_is_the_admins(rig):
    as_root = {"Impersonate-User": "root", "Impersonate-Group": "system:masters"}
    for sender in (Client(rig, certificate="ann", headers=as_root),
                   Client(rig, token=TOKENS["op"], headers=as_root)):
        code, answer = sender.status("GET", "/api/v1/nodes")
        equal(code, 403)
        has(answer["message"], "cannot impersonate resource")
    as_ann = Client(rig, certificate="root",
                    headers={"Impersonate-User": "ann", "Impersonate-Group": "team"})
    equal(as_ann.status("GET", f"{SHOP}/pods")[0], 200)
    code, headers, _ = as_ann.raw("GET", f"{OTHER}/pods")
    equal(code, 403)
    line = rig.audit_of(headers["Audit-Id"])
    equal((line["user"], line["groups"]), ("ann", ["team", "system:authenticated"]))
    equal(line["impersonator"]["user"], "root")


@case()
def an_operator_gives_no_rights(rig):
    code, answer = rig.op.status("PATCH", f"{PLACET}/configs/access", {"spec": {"bindings": [
        {"role": "admin", "users": ["op"]}]}}, "application/merge-patch+json")
    equal(code, 403)
    has(answer["message"], 'configs.placet.io "access" is forbidden: User "op" cannot patch')
    rig.op.patch(f"{PLACET}/configs/coord", {"spec": {"refresh_ms": 9000}})
    equal(rig.op.get(f"{PLACET}/configs/coord")["status"]["by"], "op")
    equal(rig.op.status("GET", "/statusz")[0], 200)


# -- the audit ---------------------------------------------------------------------------------


@case()
def the_audit_tells_what_was_done(rig):
    """Of each change and refusal one line with who, what and how it ended; of reads none."""
    done = []

    def do(client, user, method, path, body, code, **want):
        got, headers, _ = client.raw(method, path, body, {"Content-Type": "application/json"})
        equal((method, path, got), (method, path, code))
        done.append((headers["Audit-Id"], {"user": user, "code": code, **want}))

    do(rig.ann, "ann", "POST", f"{SHOP}/configmaps", '{"metadata":{"name":"told"}}', 201,
       verb="create", resource="configmaps", namespace="shop", name="told",
       via="client-certificate")
    do(rig.ann, "ann", "POST", f"{SHOP}/configmaps", '{"metadata":{"name":"told"}}', 409,
       verb="create", name="told")
    do(rig.ann, "ann", "PUT", f"{SHOP}/configmaps/told", "{", 400, verb="update")
    do(rig.op, "op", "POST", "/api/v1/namespaces", '{"metadata":{"name":"told"}}', 201,
       verb="create", resource="namespaces", via="token-file")
    do(rig.vera, "vera", "DELETE", f"{SHOP}/configmaps/told", None, 403, verb="delete",
       reason='configmaps "told" is forbidden: User "vera" cannot delete resource '
              '"configmaps" in API group "" in the namespace "shop"')
    do(rig.ann, "ann", "DELETE", f"{SHOP}/configmaps/told", None, 200, verb="delete",
       name="told")
    quiet = [rig.ann.raw("GET", f"{SHOP}/configmaps")[1]["Audit-Id"],
             rig.vera.raw("GET", "/api")[1]["Audit-Id"]]
    for audit_id, want in done:
        line = rig.audit_of(audit_id)
        equal({key: line.get(key) for key in want}, want, str(line))
        has(line["source"], "127.0.0.1:")
    if {line["id"] for line in rig.audit_lines()} & set(quiet):
        fail("reads have lines")


@case()
def nothing_breaks_out_of_the_audit(rig):
    """Names with quotes, newlines and escapes stay within their line."""
    before = len(rig.audit_lines())
    nasty = '%0a%7b%22user%22:%22root%22%7d%22,%5c%1b[31m'
    sender = Client(rig, certificate="ann", headers={"User-Agent": 'x","user":"root'})
    code, headers, _ = sender.raw("GET", f"{OTHER}/pods/{nasty}")
    equal(code, 403)
    line = rig.audit_of(headers["Audit-Id"])
    equal((line["user"], line["agent"]), ("ann", 'x","user":"root'))
    has(line["name"], '"user":"root"')
    for line in rig.audit_lines(before):
        equal(line["v"], 1)


# -- rights that end -----------------------------------------------------------------------------


def watch_until_its_end(client, path):
    """(the thread, what the watch has shown); ends with the watch."""
    shown, began = [], threading.Event()

    def follow():
        try:
            for event in client.watch(path):
                shown.append(event)
                began.set()
        except Exception as error:  # a cut is an end, too
            shown.append(error)
        began.set()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    if not began.wait(20 * SLOW):
        fail(f"no event of {path}")
    return thread, shown


def ends_within(thread, seconds, what):
    start = time.monotonic()
    thread.join(seconds * SLOW)
    if thread.is_alive():
        fail(f"{what}: the watch goes on")
    return time.monotonic() - start


@case(seconds=40)
def a_right_that_is_taken_ends_watches(rig):
    """And those that others have go on."""
    rig.root.post(f"{SHOP}/configmaps", configmap("watched"))
    hers, _ = watch_until_its_end(rig.ann, f"{SHOP}/configmaps")
    other, _ = watch_until_its_end(rig.vera, f"{SHOP}/configmaps")
    rig.bind([b for b in BINDINGS if b["role"] != "editor"])
    ends_within(hers, 5, "a binding was taken")
    equal(rig.ann.status("GET", f"{SHOP}/configmaps")[0], 403)
    equal(other.is_alive(), True)
    rig.bind(BINDINGS)
    equal(rig.ann.status("GET", f"{SHOP}/configmaps")[0], 200)
    equal(other.is_alive(), True)


@case(seconds=40)
def a_static_token_that_is_taken_ends_watches(rig):
    rig.bind([*BINDINGS, {"role": "viewer", "users": ["bob"]}])
    rig.root.post(f"{SHOP}/services", {"metadata": {"name": "s"}, "spec": {"ports": [
        {"port": 80}]}})
    bob = Client(rig, token=TOKENS["bob"])
    his, _ = watch_until_its_end(bob, f"{SHOP}/services")
    rig.write_tokens({user: token for user, token in TOKENS.items() if user != "bob"})
    ends_within(his, 10, "the token was taken from the file")
    equal(bob.status("GET", f"{SHOP}/services")[0], 401)
    rig.write_tokens(TOKENS)


@case(seconds=60)
def an_issued_token_that_is_revoked_ends_watches(rig):
    token = rig.placet_cli("token", "create", "ci", "--user", "ci-bot", "--expires", "1h").strip()
    bot = Client(rig, token=token)
    rig.until(lambda: bot.status("GET", "/api")[0] == 200, "the token is known")
    rig.root.post(f"{SHOP}/configmaps", configmap("for-bot"))
    his, _ = watch_until_its_end(bot, f"{SHOP}/configmaps")
    rig.placet_cli("token", "revoke", "ci")
    ends_within(his, 10, "the token was revoked")
    equal(bot.status("GET", "/api")[0], 401)


# -- turns -------------------------------------------------------------------------------------------


@case(seconds=90)
def a_flood_leaves_others_their_turn(rig):
    """64 connections of one user get 429s; another's requests are answered soon. How soon, the
    bench says: here are sanitizers."""
    stop, codes = threading.Event(), []

    def flood():
        client = Client(rig, token=TOKENS["flood"])
        while not stop.is_set():
            code, headers, text = client.raw("GET", f"{SHOP}/pods")
            codes.append(code)
            if code == 429 and (headers["Retry-After"] != "1" or
                                b"Too many requests, please try again later." not in text):
                codes.append(text)

    rig.bind(BINDINGS, inflight_per_user=4, queue_per_user=4)
    threads = [threading.Thread(target=flood, daemon=True) for _ in range(64)]
    for thread in threads:
        thread.start()
    try:
        rig.until(lambda: 429 in codes, "the flood is refused")
        took = []
        for _ in range(40):
            began = time.monotonic()
            equal(rig.vera.status("GET", f"{SHOP}/configmaps")[0], 200)
            took.append(time.monotonic() - began)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    rig.bind(BINDINGS)
    if set(codes) - {200, 429}:
        fail(f"the flood got {set(codes) - {200, 429}}")
    if statistics.median(took) > 1 * SLOW:
        fail(f"another user waited for {statistics.median(took)} s")


if __name__ == "__main__":
    main(DeniedRig)
