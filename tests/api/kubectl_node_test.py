#!/usr/bin/env python3
"""kubectl and nodes: create, label, taint, cordon, drain with budgets, delete."""
from kubectl import KubectlFixture, has_line, kubectl_case, same_table
from rig import node
from tap import equal, has, has_not, main


class NodeFixture(KubectlFixture):
    """The cluster's member runs: a pod that terminates ends soon."""

    def up(self):
        super().up()
        self.run_member()


def taints(k, name):
    return k.json(f"get node {name}")["spec"].get("taints") or []


def budget(k, name, app, **spec):
    k.api.post(f"/apis/policy/v1/namespaces/{k.namespace}/poddisruptionbudgets", {
        "metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}})


# -- nodes themselves ----------------------------------------------------------------------


@kubectl_case()
def create_and_delete_a_node(k):
    name = k.own("a")
    k.says("create -f -", f"node/{name} created", given=node(name))
    has(k.fails("create -f -", given=node(name)), f'nodes "{name}" already exists')
    same_table(k(f"get node {name}"), "NAME | STATUS | ROLES | AGE | VERSION | CLUSTER",
               f"{name} | Ready | <none> | <age> | | default")
    k.says(f"delete node {name}", k.deleted(f"node/{name}", namespaced=False))
    has(k.fails(f"get node {name}"), f'nodes "{name}" not found')


@kubectl_case()
def a_node_of_another_cluster(k):
    name = "east:" + k.own("a")
    k.says("create -f -", f"node/{name} created", given=node(name, labels={
        "kubernetes.io/hostname": k.own("a"), "case": k.namespace}))
    same_table(k(f"get node {name}"), "NAME | STATUS | ROLES | AGE | VERSION | CLUSTER",
               f"{name} | Ready | <none> | <age> | | east")
    k.create("pods", k.pod("p"))
    k.await_bound("p")
    k.says("get pod p -o jsonpath={.spec.nodeName}", name)
    k.says(["get", "pods", f"--field-selector=spec.nodeName={name}", "-o", "name"], "pod/p")
    has(k(f"describe node {name}"), f"{k.namespace}", "100m (1%)")


@kubectl_case()
def a_full_node_is_not_deleted(k):
    k.node("n1")
    k.create("pods", k.pod("p"))
    k.await_bound("p")
    has(k.fails(f"delete node {k.own('n1')}"), "1 pod is on it")


@kubectl_case()
def label_and_annotate_a_node(k):
    name = k.own("n1")
    k.node("n1")
    k.says(f"label node {name} disk=ssd", f"node/{name} labeled")
    k.says(f"annotate node {name} note=x", f"node/{name} annotated")
    k.create("pods", k.pod("p", nodeSelector={"disk": "ssd"}))
    k.await_bound("p")
    k.says("get nodes -l disk=ssd -o name", f"node/{name}")


# -- taints --------------------------------------------------------------------------------


@kubectl_case()
def taint(k):
    name = k.own("n1")
    k.node("n1")
    k.says(f"taint nodes {name} a=1:NoSchedule b=2:PreferNoSchedule", f"node/{name} tainted")
    equal(sorted((t["key"], t["value"], t["effect"]) for t in taints(k, name)),
          [("a", "1", "NoSchedule"), ("b", "2", "PreferNoSchedule")])
    has(k.fails(f"taint nodes {name} a=2:NoSchedule"), "already has a taint" if k.minor < 20 else
        "--overwrite is false")
    k.says(f"taint nodes {name} a=2:NoSchedule --overwrite", f"node/{name} modified")
    k.create("pods", k.pod("p"))
    k.await_pending("p")
    has(k.object("pods", "p")["status"]["conditions"][0]["message"], "taint")
    k.says(f"taint nodes {name} a-", f"node/{name} untainted")
    k.await_bound("p")
    equal([t["key"] for t in taints(k, name)], ["b"])


@kubectl_case()
def a_taint_moves_pods_away(k):
    """A pod that Placet moves off its node waits for another one."""
    name = k.own("n1")
    k.node("n1")
    k.create("pods", k.pod("p"), k.pod("stays", tolerations=[
        {"key": "off", "operator": "Exists", "effect": "NoExecute"}]))
    k.await_bound("p", "stays")
    k(f"taint nodes {name} off=1:NoExecute")
    k.until(lambda: "nodeName" not in k.object("pods", "p")["spec"], "p leaves the node")
    k.says(["get", "pods", f"--field-selector=spec.nodeName={name}", "-o", "name"], "pod/stays")
    k.node("n2")
    k.await_bound("p")


# -- cordon --------------------------------------------------------------------------------


@kubectl_case()
def cordon_and_uncordon(k):
    name = k.own("n1")
    k.node("n1")
    k.says(f"cordon {name}", f"node/{name} cordoned")
    k.says(f"cordon {name}", f"node/{name} already cordoned")
    same_table(k(f"get node {name}"), "NAME | STATUS | ROLES | AGE | VERSION | CLUSTER",
               f"{name} | Ready,SchedulingDisabled | <none> | <age> | | default")
    has_line(k(f"describe node {name}"), "Unschedulable", "true")
    k.create("pods", k.pod("p"))
    k.await_pending("p")
    has(k.object("pods", "p")["status"]["conditions"][0]["message"], "unschedulable")
    k.says(f"uncordon {name}", f"node/{name} uncordoned")
    k.await_bound("p")
    k.says(f"uncordon {name}", f"node/{name} already uncordoned")


# -- drain ---------------------------------------------------------------------------------

DRAIN = "--force --ignore-daemonsets --timeout=20s"


@kubectl_case(since=22)
def drain(k):
    name = k.own("n1")
    k.node("n1")
    k.create("pods", k.pod("a"), k.pod("b"))
    k.await_bound("a", "b")
    has(k.fails(f"drain {name}"), "declare no controller")
    out = k(f"drain {name} {DRAIN}")
    has(out, f"evicting pod {k.namespace}/a", "pod/a evicted", "pod/b evicted",
        f"node/{name} drained")
    equal(k("get pods -o name"), "")


@kubectl_case(until=21)
def drain_by_an_old_client(k):
    """1.20 posts evictions of policy/v1beta1."""
    name = k.own("n1")
    k.node("n1")
    k.create("pods", k.pod("a"))
    k.await_bound("a")
    out = k(f"drain {name} {DRAIN}")
    has(out, "pod/a evicted", f"node/{name} evicted")
    equal(k("get pods -o name"), "")


@kubectl_case(since=22, seconds=40)
def drain_waits_for_a_budget(k):
    name = k.own("n1")
    k.node("n1")
    budget(k, "web", "web", maxUnavailable=0)
    k.create("pods", k.pod("a", {"app": "web"}), k.pod("free"))
    k.await_bound("a", "free")
    draining = k.start(f"drain {name} {DRAIN}")
    draining.until("Cannot evict pod as it would violate the pod's disruption budget.")
    k.object("pods", "a")
    k.api.delete(f"/apis/policy/v1/namespaces/{k.namespace}/poddisruptionbudgets/web")
    equal(draining.end(), 0, "\n".join(draining.lines))
    has("\n".join(draining.lines), "pod/free evicted", "pod/a evicted")


@kubectl_case(since=22)
def drain_gives_up(k):
    name = k.own("n1")
    k.node("n1")
    budget(k, "web", "web", minAvailable=1)
    k.create("pods", k.pod("a", {"app": "web"}))
    k.await_bound("a")
    said = k.fails(f"drain {name} --force --timeout=3s")
    has(said, "global timeout reached")
    has_not(said, "pod/a evicted")
    k.object("pods", "a")
    has(k(f"get node {name}"), "SchedulingDisabled")


@kubectl_case()
def drain_dry_run(k):
    name = k.own("n1")
    k.node("n1")
    k.create("pods", k.pod("a"))
    k.await_bound("a")
    has(k(f"drain {name} {DRAIN} --dry-run=client"), "dry run")
    k.object("pods", "a")
    has_not(k(f"get node {name}"), "SchedulingDisabled")



@kubectl_case(seconds=30)
def a_pod_with_finalizers_gives_its_node_back(k):
    """The member stops the pod, another one takes its room, and its name stays taken."""
    k.node("n", cpu="1")
    held = k.pod("held", cpu="1")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    k.create("pods", held)
    k.await_bound("held")
    k.create("pods", k.pod("next", cpu="1"))
    k.says("delete pod held --wait=false", k.deleted("pod/held"))
    k.await_bound("next")
    got = k.object("pods", "held")
    equal((got["metadata"]["finalizers"], "deletionTimestamp" in got["metadata"]),
          (["example.com/hold"], True))
    has(k.fails("create -f -", given=k.pod("held")), "already exists")
    k.says("delete pod held --wait=false", k.deleted("pod/held"))
    waiting = k.start("delete pod held -v=6")
    waiting.until("DELETE")
    k.api.patch(f"{k.ns_path}/pods/held", {"metadata": {"finalizers": None}})
    equal(waiting.end(), 0, "\n".join(waiting.lines))
    k.create("pods", k.pod("held"))


main(NodeFixture)
