#!/usr/bin/env python3
"""kubectl get: tables, formats, selectors, pages, watches."""
import itertools
import json

from kubectl import KubectlFixture, kubectl_case, rows, same_table
from rig import configmap
from tap import equal, fail, has, has_not, main


def three_pods(k):
    k.node("n1")
    k.create("pods", k.pod("bound", {"app": "web", "tier": "front"}),
             k.pod("large", {"app": "web"}, cpu="99"), k.pod("plain"))
    k.await_bound("bound", "plain")
    k.await_pending("large")


@kubectl_case()
def pods_in_a_table(k):
    three_pods(k)
    same_table(k("get pods"),
               "NAME  | READY | STATUS  | RESTARTS | AGE   | CLUSTER | REASON",
               "bound | 0/1   | Bound   | 0        | <age> | default |",
               "large | 0/1   | Pending | 0        | <age> |         | Unschedulable",
               "plain | 0/1   | Bound   | 0        | <age> | default |")


@kubectl_case()
def pods_in_a_wide_table(k):
    three_pods(k)
    same_table(k("get pods bound large -o wide"),
               "NAME | READY | STATUS | RESTARTS | AGE | IP | NODE | NOMINATED NODE "
               "| READINESS GATES | CLUSTER | REASON",
               f"bound | 0/1 | Bound | 0 | <age> | <none> | {k.own('n1')} | <none> | <none> "
               "| default |",
               "large | 0/1 | Pending | 0 | <age> | <none> | <none> | <none> | <none> | "
               "| Unschedulable")


@kubectl_case()
def a_pod_with_gates(k):
    k.node("n1")
    k.create("pods", k.pod("p", schedulingGates=[{"name": "example.com/a"}]))
    head = "NAME | READY | STATUS | RESTARTS | AGE | CLUSTER | REASON"
    same_table(k("get pods"), head,
               "p | 0/1 | SchedulingGated | 0 | <age> | | SchedulingGated")
    k.api.patch(f"{k.ns_path}/pods/p", {"spec": {"schedulingGates": None}})
    k.await_bound("p")
    same_table(k("get pods"), head, "p | 0/1 | Bound | 0 | <age> | default |")


@kubectl_case()
def labels_as_columns(k):
    three_pods(k)
    table = rows(k("get pods -L tier,app --show-labels"))
    equal(table[0][-3:], ["TIER", "APP", "LABELS"])
    equal([row[-3:] for row in table[1:]],
          [["front", "web", "app=web,tier=front"], ["", "web", "app=web"], ["", "", "<none>"]])


@kubectl_case()
def all_namespaces(k):
    k.create("pods", k.pod("a"))
    table = rows(k("get pods -A"))
    equal(table[0][:3], ["NAMESPACE", "NAME", "READY"])
    has("\n".join(" ".join(row) for row in table), f"{k.namespace} a 0/1")


@kubectl_case()
def nothing_found(k):
    result = k.run("get pods")
    equal((result.status, result.out, result.err),
          (0, "", f"No resources found in {k.namespace} namespace.\n"))
    equal(k.fails("get pod gone"), 'Error from server (NotFound): pods "gone" not found\n')
    equal(k("get pod gone --ignore-not-found"), "")
    equal(k.fails("get wheels"), 'error: the server doesn\'t have a resource type "wheels"\n')


@kubectl_case()
def short_names_and_kinds(k):
    k.create("configmaps", configmap("c", {"a": "1", "b": "2"}))
    want = ("NAME | DATA | AGE", "c | 2 | <age>")
    for word in ("cm c", "configmap c", "configmaps c", "configmap/c", "configmaps.v1. c"):
        same_table(k(f"get {word}"), *want)
    k.says("get cm c -o name", "configmap/c")


@kubectl_case()
def several_kinds_at_once(k):
    k.create("configmaps", configmap("c"))
    k.create("serviceaccounts", {"metadata": {"name": "s"}})
    k.says("get cm/c sa/s -o name", ["configmap/c", "serviceaccount/s"])
    got = k.json("get cm/c sa/s")
    equal((got["kind"], got["apiVersion"]), ("List", "v1"))
    equal([item["kind"] for item in got["items"]], ["ConfigMap", "ServiceAccount"])


@kubectl_case()
def the_category_all(k):
    k.create("pods", k.pod("a"))
    k.create("services", {"metadata": {"name": "s"},
                          "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}})
    k.create("configmaps", configmap("c"))
    equal(k("get all -o name").split(), ["pod/a", "service/s"])


@kubectl_case()
def yaml_and_json_of_an_object(k):
    k.create("configmaps", configmap("c", {"key": "value"}, {"l": "1"}))
    stored = k.object("configmaps", "c")
    meta = stored["metadata"]
    if k.minor > 20:  # later ones do not show who manages which field
        del meta["managedFields"]
    equal(k.json("get cm c"), stored)
    text, managed = k("get cm c -o yaml"), "  managedFields:\n"
    if managed in text and k.minor == 20:
        text = text[:text.index(managed)] + text[text.index("  name: c"):]
    equal(text.splitlines(), [
        "apiVersion: v1", "data:", "  key: value", "kind: ConfigMap", "metadata:",
        f'  creationTimestamp: "{meta["creationTimestamp"]}"', "  labels:", '    l: "1"',
        "  name: c", f"  namespace: {k.namespace}",
        f'  resourceVersion: "{meta["resourceVersion"]}"', f'  uid: {meta["uid"]}'])


@kubectl_case()
def json_of_a_list(k):
    k.create("configmaps", configmap("a"), configmap("b"))
    got = k.json("get cm")
    equal((got["kind"], got["apiVersion"]), ("List", "v1"))
    equal([item["metadata"]["name"] for item in got["items"]], ["a", "b", "kube-root-ca.crt"])
    for item in got["items"]:
        equal((item["kind"], item["apiVersion"]), ("ConfigMap", "v1"))


@kubectl_case()
def jsonpath_templates_and_columns(k):
    k.create("configmaps", configmap("a", {"n": "1"}), configmap("b", {"n": "2"}))
    equal(k("get cm a b -o jsonpath={.items[*].data.n}"), "1 2")
    equal(k("""get cm -o 'jsonpath={.items[?(@.metadata.name=="b")].data.n}'"""), "2")
    equal(k("""get cm a b -o 'jsonpath={range .items[*]}{.metadata.name}={.data.n};{end}'"""),
          "a=1;b=2;")
    equal(k("get cm a -o 'go-template={{.data.n}}'"), "1")
    same_table(k("get cm a b -o custom-columns=NAME:.metadata.name,N:.data.n"),
               "NAME | N", "a | 1", "b | 2")


@kubectl_case()
def sorted_and_without_a_head(k):
    k.create("configmaps", configmap("a", {"n": "3"}), configmap("b", {"n": "1"}))
    k.says("get cm a b --sort-by=.data.n -o name", ["configmap/b", "configmap/a"])
    equal([row.split()[0] for row in k("get cm --no-headers").splitlines()],
          ["a", "b", "kube-root-ca.crt"])


@kubectl_case()
def label_selectors(k):
    k.create("configmaps", configmap("a", labels={"app": "x", "env": "prod"}),
             configmap("b", labels={"app": "y"}), configmap("c", labels={"app": "x"}))
    for selector, want in (("app=x", "a c"), ("app==x,env=prod", "a"), ("app!=x", "b kube-root"),
                           ("app in (x,y)", "a b c"), ("app notin (x)", "b kube-root"),
                           ("env", "a"), ("app,!env", "b c")):
        got = k(["get", "cm", "-o", "name", "-l", selector]).split()
        equal([name.split("/")[1].removesuffix("-ca.crt") for name in got], want.split(),
              selector)
    has(k.fails(["get", "cm", "-l", "app in x"]), "unable to parse requirement")


@kubectl_case()
def field_selectors(k):
    three_pods(k)
    for selector, want in (("metadata.name=plain", "plain"),
                           ("status.phase=Pending", "bound large plain"),
                           (f"spec.nodeName={k.own('n1')}", "bound plain"),
                           ("spec.nodeName=", "large"),
                           ("status.phase!=Pending", ""),
                           ("metadata.name!=plain,status.phase=Pending", "bound large")):
        got = k(["get", "pods", "-o", "name", "--field-selector", selector]).split()
        equal([name.removeprefix("pod/") for name in got], want.split(), selector)
    has(k.fails("get pods --field-selector spec.wheels=4"), "BadRequest",
        'field label not supported: spec.wheels')


@kubectl_case()
def lists_in_pages(k):
    names = [f"c{i}" for i in range(5)]
    k.create("configmaps", *(configmap(name) for name in names))
    for form in ("-o name", "--no-headers"):
        result = k.run(f"get cm --chunk-size=2 -v=6 {form}")
        equal([line.split()[0].removeprefix("configmap/")
               for line in result.out.splitlines()], names + ["kube-root-ca.crt"])
        equal(result.err.count("limit=2"), 3)
        equal(result.err.count("continue="), 2)


@kubectl_case()
def other_tables(k):
    k.create("persistentvolumeclaims", {
        "metadata": {"name": "v"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}}}})
    table = rows(k("get pvc"))
    equal(table[1][:2], ["v", "Pending"])
    equal(table[0][:7], ["NAME", "STATUS", "VOLUME", "CAPACITY", "ACCESS MODES", "STORAGECLASS",
                         "VOLUMEATTRIBUTESCLASS"])
    k.create("services", {"metadata": {"name": "s"}, "spec": {
        "clusterIP": "None", "selector": {"app": "x"},
        "ports": [{"port": 80, "protocol": "TCP"}]}})
    same_table(k("get svc"),
               "NAME | TYPE | CLUSTER-IP | EXTERNAL-IP | PORT(S) | AGE",
               "s | ClusterIP | None | <none> | 80/TCP | <age>")
    same_table(k(f"get ns {k.namespace}"), "NAME | STATUS | AGE",
               f"{k.namespace} | Active | <age>")
    same_table(k("get sa"), "NAME | SECRETS | AGE", "default | 0 | <age>")


@kubectl_case()
def workloads_in_tables(k):
    labels = {"matchLabels": {"app": "x"}}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {
        "containers": [{"name": "a", "image": "one"}, {"name": "b", "image": "two"}]}}
    spec = {"selector": labels, "template": template}
    for kind, more in (("deployments", {"replicas": 2}), ("replicasets", {"replicas": 3}),
                       ("statefulsets", {"replicas": 4, "serviceName": "s"}),
                       ("daemonsets", {})):
        k.api.post(f"/apis/apps/v1/namespaces/{k.namespace}/{kind}",
                   {"metadata": {"name": "x"}, "spec": {**spec, **more}})
    job = {"template": {"spec": {**template["spec"], "restartPolicy": "Never"}}}
    k.api.post(f"/apis/batch/v1/namespaces/{k.namespace}/cronjobs", {
        "metadata": {"name": "x"}, "spec": {"schedule": "@daily",
                                            "jobTemplate": {"spec": job}}})
    ends = "CONTAINERS | IMAGES | SELECTOR", "a,b | one,two | app=x"
    same_table(k("get deploy -o wide"),
               f"NAME | READY | UP-TO-DATE | AVAILABLE | AGE | {ends[0]}",
               f"x | 0/2 | 0 | 0 | <age> | {ends[1]}")
    same_table(k("get rs -o wide"), f"NAME | DESIRED | CURRENT | READY | AGE | {ends[0]}",
               f"x | 3 | 0 | 0 | <age> | {ends[1]}")
    same_table(k("get sts -o wide"), "NAME | READY | AGE | CONTAINERS | IMAGES",
               "x | 0/4 | <age> | a,b | one,two")
    same_table(k("get ds -o wide"), "NAME | DESIRED | CURRENT | READY | UP-TO-DATE | AVAILABLE "
               f"| NODE SELECTOR | AGE | {ends[0]}", f"x | 0 | 0 | 0 | 0 | 0 | <none> | <age> | {ends[1]}")
    if k.minor > 20:  # 1.20 asks for batch/v1beta1
        same_table(k("get cj"), "NAME | SCHEDULE | TIMEZONE | SUSPEND | ACTIVE | LAST SCHEDULE | AGE",
                   "x | @daily | <none> | False | 0 | <none> | <age>")


@kubectl_case()
def nodes_in_tables(k):
    k.node("a", labels={"node-role.kubernetes.io/worker": ""})
    k.node("b", unschedulable=True)
    same_table(k(f"get nodes -l case={k.namespace}"),
               "NAME | STATUS | ROLES | AGE | VERSION | CLUSTER",
               f"{k.own('a')} | Ready | worker | <age> | | default",
               f"{k.own('b')} | Ready,SchedulingDisabled | <none> | <age> | | default")
    table = rows(k(f"get node {k.own('a')} -o wide"))
    equal(table[0], ["NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP", "EXTERNAL-IP",
                     "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME", "CLUSTER"])
    equal(table[1][5:10], ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"])


# -- watches ---------------------------------------------------------------------------------


@kubectl_case()
def a_watch_shows_what_is_there_and_what_comes(k):
    k.create("configmaps", configmap("old"))
    watch = k.start("get cm -w --field-selector metadata.name!=kube-root-ca.crt")
    has(watch.until("old"), "0")
    k.create("configmaps", configmap("new", {"a": "b"}))
    equal(watch.until("new").split()[:2], ["new", "1"])
    k.api.patch(f"{k.ns_path}/configmaps/new", {"data": {"c": "d"}})
    equal(watch.until("new").split()[:2], ["new", "2"])
    k.api.delete(f"{k.ns_path}/configmaps/new")
    equal(watch.until("new").split()[:2], ["new", "2"])
    equal(watch.lines[0].split(), ["NAME", "DATA", "AGE"])


@kubectl_case()
def a_watch_of_pods_follows_the_scheduler(k):
    k.create("pods", k.pod("p"))
    watch = k.start("get pods -w")
    has(watch.until("Pending"), "p ")
    k.node("n1")
    has(watch.until("Bound"), "p ", "default")


@kubectl_case()
def a_watch_of_one_object(k):
    k.create("configmaps", configmap("a"), configmap("b"))
    watch = k.start("get cm a -w -o name -v=6")
    watch.until("configmap/a")
    watch.until("watch=true")
    turns = itertools.count()

    def changes():
        """kubectl drops the watch's first event: a change before that is not shown."""
        for name in ("b", "a"):
            k.api.patch(f"{k.ns_path}/configmaps/{name}", {"data": {"n": str(next(turns))}})
        return watch.next("configmap/a")

    k.until(changes)
    has_not("\n".join(watch.lines), "configmap/b")


@kubectl_case()
def a_watch_with_events_and_a_selector(k):
    watch = k.start("get cm -l app=x --watch --output-watch-events")
    k.create("configmaps", configmap("other"))
    # An object that comes before the watch stands is ADDED, too.
    k.create("configmaps", configmap("a", labels={"app": "x"}))
    equal(watch.until("a ").split()[:3], ["ADDED", "a", "0"])
    equal(watch.lines[0].split(), ["EVENT", "NAME", "DATA", "AGE"])
    k.api.patch(f"{k.ns_path}/configmaps/a", {"metadata": {"labels": {"app": "y"}}})
    equal(watch.until("a ").split()[:2], ["DELETED", "a"])
    k.api.patch(f"{k.ns_path}/configmaps/a", {"metadata": {"labels": {"app": "x"}}})
    equal(watch.until("a ").split()[:2], ["ADDED", "a"])
    k.api.patch(f"{k.ns_path}/configmaps/a", {"data": {"k": "v"}})
    equal(watch.until("a ").split()[:3], ["MODIFIED", "a", "1"])
    has_not("\n".join(watch.lines), "other")


@kubectl_case()
def only_what_comes(k):
    k.create("configmaps", configmap("old"))
    watch = k.start("get cm --watch-only -o name -v=6")
    watch.until("watch=true")
    k.create("configmaps", configmap("new"))
    watch.until("configmap/new")
    has_not("\n".join(watch.lines), "configmap/old")


# -- raw ---------------------------------------------------------------------------------------


@kubectl_case()
def raw_requests(k):
    equal(json.loads(k(f"get --raw {k.ns_path}"))["metadata"]["name"], k.namespace)
    equal(k("get --raw /healthz"), "ok")
    equal(k("get --raw /readyz"), "ok")
    has(k.fails("get --raw /api/v1/wheels"), "NotFound")
    made = json.loads(k(f"create --raw {k.ns_path}/configmaps -f -",
                        given=json.dumps(configmap("raw"))))
    equal(made["metadata"]["name"], "raw")
    k(f"delete --raw {k.ns_path}/configmaps/raw")
    k.fails("get cm raw")


@kubectl_case()
def what_another_client_changes_is_seen_at_once(k):
    for i in range(3):
        k.create("configmaps", configmap(f"c{i}"))
        if k.run(f"get cm c{i} -o name").out != f"configmap/c{i}\n":
            fail(f"c{i} is not seen")


main(KubectlFixture)
