#!/usr/bin/env python3
"""kubectl apply, diff, patch, edit, label, annotate, scale, rollout."""
import json

from kubectl import KubectlFixture, kubectl_case, same_table
from rig import configmap, pod
from tap import equal, has, has_not, main

LAST = "kubectl.kubernetes.io/last-applied-configuration"


def deployment(name, image="nginx:1.25", replicas=1, **container):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": {
                         "containers": [{"name": "main", "image": image, **container}]}}}}


def deployments(k):
    return f"/apis/apps/v1/namespaces/{k.namespace}/deployments"


# -- apply, on the client's side -------------------------------------------------------------


@kubectl_case()
def apply_creates_changes_and_leaves(k):
    k.says("apply -f -", "configmap/c created", given=configmap("c", {"a": "1", "b": "2"}))
    k.says("apply -f -", "configmap/c unchanged", given=configmap("c", {"a": "1", "b": "2"}))
    version = k.object("configmaps", "c")["metadata"]["resourceVersion"]
    k.says("apply -f -", "configmap/c unchanged", given=configmap("c", {"a": "1", "b": "2"}))
    equal(k.object("configmaps", "c")["metadata"]["resourceVersion"], version)
    # What another client has added stays, what is no longer applied goes.
    k.api.patch(f"{k.ns_path}/configmaps/c", {"data": {"other": "x"}})
    k.says("apply -f -", "configmap/c configured", given=configmap("c", {"a": "3"}))
    got = k.object("configmaps", "c")
    equal(got["data"], {"a": "3", "other": "x"})
    equal(json.loads(got["metadata"]["annotations"][LAST])["data"], {"a": "3"})


@kubectl_case()
def apply_merges_lists_by_key(k):
    k("apply -f -", given=deployment("web", env=[{"name": "A", "value": "1"},
                                                  {"name": "B", "value": "2"}]))
    # A sidecar of another client's.
    k.api.patch(f"{deployments(k)}/web", [{
        "op": "add", "path": "/spec/template/spec/containers/-",
        "value": {"name": "side", "image": "envoy"}}], "application/json-patch+json")
    k.says("apply -f -", "deployment.apps/web configured",
           given=deployment("web", "nginx:1.26", env=[{"name": "B", "value": "3"}]))
    containers = {one["name"]: one for one in k.json("get deployment web")["spec"]["template"][
        "spec"]["containers"]}
    equal(sorted(containers), ["main", "side"])
    equal((containers["main"]["image"], containers["main"]["env"]),
          ("nginx:1.26", [{"name": "B", "value": "3"}]))


@kubectl_case()
def apply_several_and_prune_nothing(k):
    k.says("apply -f -", ["configmap/a created", "configmap/b created",
                          "deployment.apps/web created"],
           given=[configmap("a"), configmap("b"), deployment("web")])
    k.says("apply -f -", ["configmap/a unchanged"], given=[configmap("a")])
    k.object("configmaps", "b")


@kubectl_case()
def apply_a_pod_twice(k):
    one = pod("p", {"app": "x"})
    k.says("apply -f -", "pod/p created", given=one)
    k.says("apply -f -", "pod/p unchanged", given=one)


@kubectl_case()
def apply_dry_run(k):
    k("apply -f -", given=configmap("c", {"a": "1"}))
    has(k("apply -f - --dry-run=server", given=configmap("c", {"a": "2"})),
        "configmap/c configured (server dry run)")
    equal(k.object("configmaps", "c")["data"], {"a": "1"})


@kubectl_case()
def apply_view_last_applied(k):
    k("apply -f -", given=configmap("c", {"a": "1"}))
    has(k("apply view-last-applied cm c"), "a: \"1\"")


# -- apply, on the server's side -------------------------------------------------------------


def managers(one):
    return sorted((m["manager"], m["operation"]) for m in one["metadata"]["managedFields"])


def managed(k, name):
    return k.json(f"get cm {name}" + (" --show-managed-fields" if k.minor > 20 else ""))


@kubectl_case()
def server_side_apply(k):
    k.says("apply --server-side -f -", "configmap/c serverside-applied",
           given=configmap("c", {"a": "1", "b": "2"}))
    got = managed(k, "c")
    equal(managers(got), [("kubectl", "Apply")])
    equal(got["metadata"]["managedFields"][0]["fieldsV1"],
          {"f:data": {"f:a": {}, "f:b": {}}})
    version = got["metadata"]["resourceVersion"]
    k.says("apply --server-side -f -", "configmap/c serverside-applied",
           given=configmap("c", {"a": "1", "b": "2"}))
    equal(managed(k, "c")["metadata"]["resourceVersion"], version)
    k("apply --server-side -f -", given=configmap("c", {"a": "1"}))
    equal(k.object("configmaps", "c")["data"], {"a": "1"})


@kubectl_case()
def server_side_apply_conflicts(k):
    k("apply --server-side -f -", given=configmap("c", {"a": "1"}))
    said = k.fails("apply --server-side --field-manager=other -f -",
                   given=configmap("c", {"a": "2"}))
    has(said, "conflict with \"kubectl\"", ".data.a")
    k("apply --server-side --field-manager=other --force-conflicts -f -",
      given=configmap("c", {"a": "2"}))
    got = managed(k, "c")
    equal(got["data"], {"a": "2"})
    owners = {m["manager"]: m["fieldsV1"] for m in got["metadata"]["managedFields"]}
    equal(owners["other"]["f:data"], {"f:a": {}})
    has_not(json.dumps(owners.get("kubectl", {})), "f:a")
    # Two may own a field with the same value.
    k("apply --server-side --field-manager=third -f -", given=configmap("c", {"a": "2"}))
    equal([m[0] for m in managers(managed(k, "c"))][-2:], ["other", "third"])


@kubectl_case()
def server_side_apply_over_a_client_side_one(k):
    k("apply -f -", given=configmap("c", {"a": "1"}))
    k("apply --server-side -f - --force-conflicts", given=configmap("c", {"a": "2"}))
    equal(k.object("configmaps", "c")["data"], {"a": "2"})


@kubectl_case()
def server_side_apply_of_a_deployment(k):
    k("apply --server-side -f -", given=deployment("web", ports=[{"containerPort": 80}]))
    got = k.json("get deployment web" + (" --show-managed-fields" if k.minor > 20 else ""))
    fields = got["metadata"]["managedFields"][0]["fieldsV1"]
    container = fields["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"main"}']
    equal(sorted(container), [".", "f:image", "f:name", "f:ports"])
    equal(got["spec"]["strategy"]["type"], "RollingUpdate")


# -- diff ----------------------------------------------------------------------------------


@kubectl_case()
def diff(k):
    one = configmap("c", {"a": "1"})
    k("apply -f -", given=one)
    equal(k("diff -f -", given=one), "")
    one["data"]["a"] = "2"
    result = k.run("diff -f -", given=one)
    equal(result.status, 1, str(result))
    has(result.out, '-  a: "1"', '+  a: "2"')
    equal(k.object("configmaps", "c")["data"], {"a": "1"})
    has(k.run("diff -f -", given=configmap("new", {"x": "y"})).out, '+  x: "y"')


@kubectl_case()
def diff_server_side(k):
    k("apply --server-side -f -", given=configmap("c", {"a": "1"}))
    result = k.run("diff --server-side -f -", given=configmap("c", {"a": "2"}))
    equal(result.status, 1, str(result))
    has(result.out, '-  a: "1"', '+  a: "2"')


# -- patch ---------------------------------------------------------------------------------


@kubectl_case()
def patch_merge(k):
    k.create("configmaps", configmap("c", {"a": "1", "b": "2"}))
    k.says(["patch", "cm", "c", "--type=merge", "-p", '{"data":{"a":null,"c":"3"}}'],
           "configmap/c patched")
    equal(k.object("configmaps", "c")["data"], {"b": "2", "c": "3"})
    k.says(["patch", "cm", "c", "--type=merge", "-p", '{"data":{"c":"3"}}'],
           "configmap/c patched (no change)")


@kubectl_case()
def patch_json(k):
    k.create("configmaps", configmap("c", {"a": "1"}))
    k.says(["patch", "cm", "c", "--type=json", "-p",
            '[{"op":"test","path":"/data/a","value":"1"},'
            '{"op":"replace","path":"/data/a","value":"2"},'
            '{"op":"add","path":"/data/b","value":"3"}]'], "configmap/c patched")
    equal(k.object("configmaps", "c")["data"], {"a": "2", "b": "3"})
    has(k.fails(["patch", "cm", "c", "--type=json", "-p",
                 '[{"op":"remove","path":"/data/none"}]']),
        "is invalid", "remove operation does not apply")


@kubectl_case()
def patch_strategic(k):
    k.api.post(deployments(k), deployment("web"))
    k.says(["patch", "deployment", "web", "-p", json.dumps({"spec": {"template": {"spec": {
        "containers": [{"name": "side", "image": "envoy"}]}}}})], "deployment.apps/web patched")
    spec = k.json("get deployment web")["spec"]["template"]["spec"]
    equal(sorted(one["name"] for one in spec["containers"]), ["main", "side"])
    k(["patch", "deployment", "web", "-p", json.dumps({"spec": {"template": {"spec": {
        "containers": [{"name": "side", "$patch": "delete"}]}}}})])
    spec = k.json("get deployment web")["spec"]["template"]["spec"]
    equal([one["name"] for one in spec["containers"]], ["main"])


@kubectl_case()
def patch_from_yaml_and_dry_run(k):
    k.create("configmaps", configmap("c", {"a": "1"}))
    (k.dir / "patch.yaml").write_text("data:\n  a: '2'\n")
    has(k("patch cm c --patch-file patch.yaml --dry-run=server" if k.minor > 20 else
          ["patch", "cm", "c", "-p", "data:\n  a: '2'\n", "--dry-run=server"]),
        "configmap/c patched")
    equal(k.object("configmaps", "c")["data"], {"a": "1"})


@kubectl_case(since=24)
def patch_a_status(k):
    k.api.post(deployments(k), deployment("web"))
    k(["patch", "deployment", "web", "--subresource=status", "--type=merge", "-p",
       '{"status":{"replicas":3},"spec":{"replicas":7}}'])
    got = k.json("get deployment web")
    equal((got["status"]["replicas"], got["spec"]["replicas"]), (3, 1))


@kubectl_case()
def patch_what_may_not_change(k):
    k.api.post(deployments(k), deployment("web"))
    said = k.fails(["patch", "deployment", "web", "-p",
                    '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'])
    has(said, 'The Deployment "web" is invalid', "spec.selector", "field is immutable")
    k.create("configmaps", {**configmap("c", {"a": "1"}), "immutable": True})
    has(k.fails(["patch", "cm", "c", "-p", '{"data":{"a":"2"}}']),
        "field is immutable when `immutable` is set")


# -- edit ----------------------------------------------------------------------------------


def editor(k, expression):
    """A program that edits the file that it is given."""
    path = k.dir / "editor"
    path.write_text(f"#!/bin/sh\nexec sed -i '{expression}' \"$1\"\n")
    path.chmod(0o755)
    return {"KUBE_EDITOR": str(path), "TERM": "dumb"}


@kubectl_case()
def edit(k):
    k.create("configmaps", configmap("c", {"a": "1"}))
    equal(k("edit cm c", **editor(k, 's/a: "1"/a: "2"/')), "configmap/c edited\n")
    equal(k.object("configmaps", "c")["data"], {"a": "2"})
    result = k.run("edit cm c", **editor(k, "s/nothing/something/"))
    has(result.out + result.err, "Edit cancelled, no changes made.")


@kubectl_case()
def edit_a_deployment(k):
    k.api.post(deployments(k), deployment("web"))
    equal(k("edit deployment web", **editor(k, "s/nginx:1.25/nginx:1.27/")),
          "deployment.apps/web edited\n")
    equal(k.json("get deployment web")["spec"]["template"]["spec"]["containers"][0]["image"],
          "nginx:1.27")


# -- label, annotate -------------------------------------------------------------------------


@kubectl_case()
def label(k):
    k.create("configmaps", configmap("c", labels={"a": "1"}), configmap("d"))
    k.says("label cm c b=2", "configmap/c labeled")
    has(k.fails("label cm c a=2"), "'a' already has a value (1), and --overwrite is false")
    k.says("label cm c a=2 --overwrite", "configmap/c labeled")
    k.says("label cm c a-", "configmap/c unlabeled" if k.minor > 20 else "configmap/c labeled")
    equal(k.object("configmaps", "c")["metadata"]["labels"], {"b": "2"})
    k("label cm --all x=y")
    k.says("get cm -l x=y -o name",
           ["configmap/c", "configmap/d", "configmap/kube-root-ca.crt"])
    has(k.fails(["patch", "cm", "c", "--type=merge", "-p", '{"metadata":{"labels":{"a":"-"}}}']),
        'The ConfigMap "c" is invalid', "metadata.labels", "a valid label must be an empty string")


@kubectl_case()
def annotate(k):
    k.create("configmaps", configmap("c"))
    k.says("annotate cm c note='two words'", "configmap/c annotated")
    equal(k.object("configmaps", "c")["metadata"]["annotations"], {"note": "two words"})
    k("annotate cm c note-")
    equal(k.object("configmaps", "c")["metadata"].get("annotations") or {}, {})


@kubectl_case()
def label_a_pod(k):
    k.node("n1")
    k.create("pods", k.pod("p"))
    k.await_bound("p")
    k.says("label pod p app=x", "pod/p labeled")
    k.says("annotate pod p note=x", "pod/p annotated")
    k.says("get pods -l app=x -o name", "pod/p")


# -- scale, set, rollout -----------------------------------------------------------------------


@kubectl_case()
def scale(k):
    k.api.post(deployments(k), deployment("web"))
    k.says("scale deployment web --replicas=3", "deployment.apps/web scaled")
    same_table(k("get deployment web"), "NAME | READY | UP-TO-DATE | AVAILABLE | AGE",
               "web | 0/3 | 0 | 0 | <age>")
    has(k.fails("scale deployment web --replicas=5 --current-replicas=1"),
        "xpected replicas to be 1, was 3")


@kubectl_case()
def set_an_image(k):
    k.api.post(deployments(k), deployment("web"))
    k.says("set image deployment/web main=nginx:1.28", "deployment.apps/web image updated")
    k.says("set env deployment/web A=b", "deployment.apps/web env updated")
    container = k.json("get deployment web")["spec"]["template"]["spec"]["containers"][0]
    equal((container["image"], container["env"]), ("nginx:1.28", [{"name": "A", "value": "b"}]))


@kubectl_case()
def rollout_status(k):
    k.api.post(deployments(k), deployment("web"))
    waiting = k.start("rollout status deployment/web --timeout=20s")
    waiting.until("Waiting for deployment")
    k.api.patch(f"{deployments(k)}/web/status", {"status": {
        "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
        "readyReplicas": 1}})
    equal(waiting.end(), 0)
    equal(waiting.lines[-1], 'deployment "web" successfully rolled out')


@kubectl_case()
def rollout_restart(k):
    k.api.post(deployments(k), deployment("web"))
    k.says("rollout restart deployment/web", "deployment.apps/web restarted")
    has(json.dumps(k.json("get deployment web")["spec"]["template"]["metadata"]),
        "kubectl.kubernetes.io/restartedAt")


main(KubectlFixture)
