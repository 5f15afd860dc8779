#!/usr/bin/env python3
"""kubectl describe, explain, events and what discovery is asked for."""
import re

from kubectl import KubectlFixture, has_line, kubectl_case, rows, same_table, scrub
from rig import configmap
from tap import equal, golden, has, has_not, main


def kubectl_golden(k, name, text):
    golden(f"kubectl-{k.version}/{name}.txt", scrub(text.replace(k.namespace, "<ns>")))


# -- describe ------------------------------------------------------------------------------


@kubectl_case()
def describe_pod(k):
    k.node("n1")
    spec = k.pod("p", {"app": "web", "tier": "front"}, tolerations=[
        {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}],
        terminationGracePeriodSeconds=7)
    spec["metadata"]["annotations"] = {"note": "seven"}
    spec["spec"]["containers"][0].update(
        command=["sleep"], args=["1000"], ports=[{"name": "http", "containerPort": 80}],
        env=[{"name": "A", "value": "b"}],
        resources={"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}})
    k.create("pods", spec)
    k.await_bound("p")
    kubectl_golden(k, "describe-pod", k("describe pod p"))


@kubectl_case()
def describe_pending_pod(k):
    k.node("n1")
    k.create("pods", k.pod("p", cpu="99"))
    k.await_pending("p")
    text = k("describe pod p")
    has_line(text, "Status", "Pending")
    has_line(text, "Node", "<none>")
    has_line(text, "PodScheduled", "False")


@kubectl_case()
def describe_pending_pod_says_why(k):
    k.node("n1")
    k.create("pods", k.pod("p", cpu="99"))
    k.await_pending("p")
    text = k("describe pod p")
    has(text, "FailedScheduling", "Insufficient cpu")
    k.create("pods", k.pod("q"))
    k.await_bound("q")
    has(k("describe pod q"), "Scheduled", f"Successfully assigned {k.namespace}/q to ")


@kubectl_case()
def describe_node(k):
    name = k.own("n1")
    k.node("n1", labels={"topology.kubernetes.io/zone": "z1"}, taints=[
        {"key": "case", "value": "own", "effect": "NoSchedule"}])
    k.create("pods", k.pod("p", tolerations=[{"key": "case", "operator": "Exists"}]))
    k.await_bound("p")
    kubectl_golden(k, "describe-node", k(f"describe node {name}"))


@kubectl_case()
def describe_namespace(k):
    kubectl_golden(k, "describe-namespace", k(f"describe ns {k.namespace}"))


@kubectl_case()
def describe_other_kinds(k):
    k.create("configmaps", configmap("c", {"key": "value"}, {"l": "1"}))
    kubectl_golden(k, "describe-configmap", k("describe cm c"))
    k.api.post(f"/apis/policy/v1/namespaces/{k.namespace}/poddisruptionbudgets", {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}})
    if k.minor > 20:  # 1.20 asks for policy/v1beta1
        has(k("describe pdb b"), "Min available:  1", "Selector:       app=x")
    has(k.fails("describe cm gone"), '"gone" not found')


# -- discovery -----------------------------------------------------------------------------


@kubectl_case()
def api_versions(k):
    k.says("api-versions", [
        "apps/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1", "batch/v1",
        "coordination.k8s.io/v1", "events.k8s.io/v1", "placet.io/v1",
        "policy/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1", "v1"])


# Kubernetes' words for what Placet serves, in the order of kubectl.
KUBERNETES_RESOURCES = """\
bindings||v1|true|Binding
configmaps|cm|v1|true|ConfigMap
events|ev|v1|true|Event
namespaces|ns|v1|false|Namespace
nodes|no|v1|false|Node
persistentvolumeclaims|pvc|v1|true|PersistentVolumeClaim
persistentvolumes|pv|v1|false|PersistentVolume
pods|po|v1|true|Pod
podtemplates||v1|true|PodTemplate
replicationcontrollers|rc|v1|true|ReplicationController
serviceaccounts|sa|v1|true|ServiceAccount
services|svc|v1|true|Service
daemonsets|ds|apps/v1|true|DaemonSet
deployments|deploy|apps/v1|true|Deployment
replicasets|rs|apps/v1|true|ReplicaSet
statefulsets|sts|apps/v1|true|StatefulSet
selfsubjectreviews||authentication.k8s.io/v1|false|SelfSubjectReview
tokenreviews||authentication.k8s.io/v1|false|TokenReview
localsubjectaccessreviews||authorization.k8s.io/v1|true|LocalSubjectAccessReview
selfsubjectaccessreviews||authorization.k8s.io/v1|false|SelfSubjectAccessReview
selfsubjectrulesreviews||authorization.k8s.io/v1|false|SelfSubjectRulesReview
subjectaccessreviews||authorization.k8s.io/v1|false|SubjectAccessReview
cronjobs|cj|batch/v1|true|CronJob
jobs||batch/v1|true|Job
leases||coordination.k8s.io/v1|true|Lease
events|ev|events.k8s.io/v1|true|Event
poddisruptionbudgets|pdb|policy/v1|true|PodDisruptionBudget
priorityclasses|pc|scheduling.k8s.io/v1|false|PriorityClass
csidrivers||storage.k8s.io/v1|false|CSIDriver
csinodes||storage.k8s.io/v1|false|CSINode
csistoragecapacities||storage.k8s.io/v1|true|CSIStorageCapacity
storageclasses|sc|storage.k8s.io/v1|false|StorageClass"""


@kubectl_case()
def api_resources(k):
    head, *table = rows(k("api-resources"))
    equal(head, ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"])
    own = [row for row in table if row[2] == "placet.io/v1"]
    equal([row[0] for row in own], ["clusters", "configs", "explanations", "gangs",
                                    "partitions", "plans", "shards", "tokens"])
    equal(["|".join(row) for row in table if row not in own],
          KUBERNETES_RESOURCES.splitlines())


@kubectl_case()
def api_resources_of_a_group(k):
    equal(k("api-resources --api-group=policy -o name").split(),
          ["poddisruptionbudgets.policy"])
    names = k("api-resources --namespaced=false -o name").split()
    has_not(" ".join(names), "pods", "configmaps")
    has(" ".join(names), "nodes", "namespaces", "priorityclasses.scheduling.k8s.io")
    has(k("api-resources --api-group=apps -o wide"), "deployments", "patch", "watch")


@kubectl_case()
def version(k):
    has(k("version"), "v1.32.0")
    got = k.json("version")["serverVersion"]
    equal((got["major"], got["minor"]), ("1", "32"))


@kubectl_case()
def cluster_info(k):
    has(re.sub(r"\x1b\[[0-9;]*m", "", k("cluster-info")), f"http://127.0.0.1:{k.fixture.port}")


# -- explain -------------------------------------------------------------------------------


@kubectl_case()
def explain_pod_spec(k):
    text = k("explain pod.spec")
    has(text, "Pod\n", "VERSION:", "v1\n", "nodeName", "tolerations", "schedulingGates",
        "containers")
    has(text, "-required-")


@kubectl_case()
def explain_a_field(k):
    text = k("explain pod.spec.tolerations.tolerationSeconds")
    has(text, "tolerationSeconds", "<integer>")
    has(k("explain deployments.spec.template.spec.containers.resources.requests"),
        "<map[string]" if k.minor < 27 else "<map[string]Quantity>")
    has(k.fails("explain pod.spec.wheels"), 'field "wheels" does not exist')


@kubectl_case()
def explain_recursively(k):
    text = k("explain pod.spec --recursive")
    has(text, "affinity", "nodeAffinity", "matchExpressions", "podAntiAffinity",
        "topologySpreadConstraints")
    lines = [line for line in text.splitlines() if line.strip().startswith("matchExpressions")]
    has("\n".join(lines), "<[]")


@kubectl_case()
def explain_kinds_of_placet(k):
    has(k("explain shards"), "Shard")
    has(k("explain gangs"), "FIELDS:", "metadata")


# -- events --------------------------------------------------------------------------------


def note(k, name, reason, message, kind="Normal", about="p"):
    return {"metadata": {"name": name}, "type": kind, "reason": reason, "message": message,
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": about,
                               "namespace": k.namespace},
            "source": {"component": "test"}, "count": 3,
            "firstTimestamp": "2026-11-28T01:00:00Z", "lastTimestamp": "2026-11-28T01:01:00Z"}


@kubectl_case()
def events_in_tables(k):
    k.create("events", note(k, "e1", "Tested", "all is well"),
             note(k, "e2", "Broken", "a wheel is off", "Warning", "q"))
    table = rows(k("get events --sort-by=.metadata.name"))
    equal(table[0], ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"])
    equal([row[1:] for row in table[1:]],
          [["Normal", "Tested", "pod/p", "all is well"],
           ["Warning", "Broken", "pod/q", "a wheel is off"]])
    equal(k("get events --field-selector type=Warning -o name"), "event/e2\n")
    equal(k("get events --field-selector involvedObject.name=p -o name"), "event/e1\n")


@kubectl_case()
def events_in_a_description(k):
    k.create("pods", k.pod("p"))
    about = note(k, "e1", "Tested", "all is well")
    about["involvedObject"]["uid"] = k.object("pods", "p")["metadata"]["uid"]
    k.create("events", about)
    has(k("describe pod p"), "Tested", "all is well", "(x3 over ")


@kubectl_case(since=27)
def events_of_an_object(k):
    k.create("events", note(k, "e1", "Tested", "all is well"),
             note(k, "e2", "Broken", "a wheel is off", "Warning", "q"))
    table = rows(k("events --for pod/p"))
    equal(table[0], ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"])
    equal([row[1:4] for row in table[1:]], [["Normal", "Tested", "Pod/p"]])
    same_table(k("events --types=Warning --no-headers=false").split("\n")[0],
               "LAST SEEN | TYPE | REASON | OBJECT | MESSAGE")


main(KubectlFixture)
