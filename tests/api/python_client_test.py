#!/usr/bin/env python3
"""Debian's python3-kubernetes against the rig."""
import os
import subprocess
import sys

DEBIAN_PYTHON = "/usr/bin/python3"

try:
    import kubernetes
    from kubernetes.client.rest import ApiException
except ImportError:
    kubernetes = None
    # The module is Debian's, so another python3 in PATH does not have it.
    if sys.executable != DEBIAN_PYTHON and os.access(DEBIAN_PYTHON, os.X_OK) and \
            subprocess.run([DEBIAN_PYTHON, "-c", "import kubernetes"], capture_output=True,
                           check=False).returncode == 0:
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, *sys.argv])

from rig import Rig, configmap, node, pod
from tap import Skip, case, equal, fail, main


class Client:
    """The client's parts, and a namespace of the case's own."""

    def __init__(self, rig, namespace):
        configuration = kubernetes.client.Configuration(host=f"http://127.0.0.1:{rig.port}")
        api = kubernetes.client.ApiClient(configuration)
        self.rig, self.namespace, self.api = rig, namespace, api
        self.core = kubernetes.client.CoreV1Api(api)
        self.apps = kubernetes.client.AppsV1Api(api)
        self.core.create_namespace(configmap(namespace) | {"kind": "Namespace", "data": None})

    def refused(self, status, call, *args, **more):
        try:
            call(*args, **more)
        except ApiException as error:
            equal(error.status, status)
            return error
        return fail(f"{call.__name__} must be refused with {status}")


class PythonClientFixture(Rig):
    def __init__(self):
        if kubernetes is None:
            raise Skip("python3-kubernetes is not installed")
        super().__init__()

    def enter(self, name):
        if "placetd" not in self.processes or name == "the_server_ends_in_order":
            return None
        return Client(self, name.replace("_", "-"))


def names(items):
    return [item.metadata.name for item in items]


@case()
def create_read_replace_patch_delete(c):
    made = c.core.create_namespaced_config_map(c.namespace, configmap("a", {"x": "1"}))
    equal((made.kind, made.data), ("ConfigMap", {"x": "1"}))
    made.data["x"] = "2"
    changed = c.core.replace_namespaced_config_map("a", c.namespace, made)
    equal(changed.data, {"x": "2"})
    c.refused(409, c.core.replace_namespaced_config_map, "a", c.namespace, made)
    # This client's patches are strategic merge patches, or JSON patches if they are lists.
    got = c.core.patch_namespaced_config_map("a", c.namespace, {"data": {"y": "3"}})
    equal(got.data, {"x": "2", "y": "3"})
    got = c.core.patch_namespaced_config_map(
        "a", c.namespace, [{"op": "remove", "path": "/data/x"}])
    equal(got.data, {"y": "3"})
    equal(c.core.delete_namespaced_config_map("a", c.namespace).status, "Success")
    error = c.refused(404, c.core.read_namespaced_config_map, "a", c.namespace)
    equal(error.reason, "Not Found")
    equal(c.refused(422, c.core.create_namespaced_config_map, c.namespace,
                    configmap("Bad")).status, 422)


@case()
def lists_pages_and_selectors(c):
    for i in range(5):
        c.core.create_namespaced_config_map(
            c.namespace, configmap(f"c{i}", labels={"odd": str(i % 2)}))
    got, token = [], None
    while True:
        page = c.core.list_namespaced_config_map(c.namespace, limit=2, _continue=token,
                                                 label_selector="odd")
        got += names(page.items)
        token = page.metadata._continue
        if not token:
            break
    equal(got, ["c0", "c1", "c2", "c3", "c4"])
    equal(names(c.core.list_namespaced_config_map(c.namespace, label_selector="odd=1").items),
          ["c1", "c3"])
    equal(names(c.core.list_namespaced_config_map(
        c.namespace, field_selector="metadata.name=c2").items), ["c2"])
    c.core.delete_collection_namespaced_config_map(c.namespace, label_selector="odd=0")
    equal(names(c.core.list_namespaced_config_map(c.namespace, label_selector="odd").items),
          ["c1", "c3"])


@case()
def a_watch(c):
    version = c.core.list_namespaced_config_map(c.namespace).metadata.resource_version
    c.core.create_namespaced_config_map(c.namespace, configmap("a", {"x": "1"}))
    c.core.patch_namespaced_config_map("a", c.namespace, {"data": {"x": "2"}})
    c.core.delete_namespaced_config_map("a", c.namespace)
    watch, got = kubernetes.watch.Watch(), []
    for event in watch.stream(c.core.list_namespaced_config_map, c.namespace,
                              resource_version=version, timeout_seconds=20):
        got.append((event["type"], event["object"].metadata.name, event["object"].data["x"]))
        if event["type"] == "DELETED":
            watch.stop()
    equal(got, [("ADDED", "a", "1"), ("MODIFIED", "a", "2"), ("DELETED", "a", "2")])


@case()
def a_watch_ends_in_time_and_goes_on(c):
    def names_until_the_end(version):
        return [event["object"].metadata.name for event in watch.stream(
            c.core.list_namespaced_config_map, c.namespace, timeout_seconds=1,
            resource_version=version)]

    watch = kubernetes.watch.Watch()
    c.core.create_namespaced_config_map(c.namespace, configmap("a"))
    equal(sorted(names_until_the_end(None)), ["a", "kube-root-ca.crt"])
    version = c.core.list_namespaced_config_map(c.namespace).metadata.resource_version
    c.core.create_namespaced_config_map(c.namespace, configmap("b"))
    equal(names_until_the_end(version), ["b"])
    c.core.create_namespaced_config_map(c.namespace, configmap("c"))
    equal(names_until_the_end(watch.resource_version), ["c"])


@case()
def pods_and_nodes(c):
    one = node(f"{c.namespace}-n1", labels={"case": c.namespace})
    equal(c.core.create_node(one).status.capacity["cpu"], "8")
    made = c.core.create_namespaced_pod(
        c.namespace, pod("p", {"app": "x"}, nodeSelector={"case": c.namespace}))
    equal((made.spec.scheduler_name, made.status.phase), ("default-scheduler", "Pending"))
    watch = kubernetes.watch.Watch()
    for event in watch.stream(c.core.list_namespaced_pod, c.namespace, timeout_seconds=20):
        if event["object"].spec.node_name:
            watch.stop()
    bound = c.core.read_namespaced_pod("p", c.namespace)
    equal(bound.spec.node_name, f"{c.namespace}-n1")
    equal(names(c.core.list_pod_for_all_namespaces(
        field_selector=f"spec.nodeName={c.namespace}-n1").items), ["p"])
    c.core.patch_node(f"{c.namespace}-n1", {"spec": {"unschedulable": True}})
    equal(c.core.read_node(f"{c.namespace}-n1").spec.unschedulable, True)
    c.core.delete_namespaced_pod("p", c.namespace, grace_period_seconds=0)
    c.rig.until(lambda: "p" not in names(c.core.list_namespaced_pod(c.namespace).items))
    c.refused(404, c.core.read_namespaced_pod, "p", c.namespace)


@case()
def typed_objects_of_other_groups(c):
    v1 = kubernetes.client
    made = c.apps.create_namespaced_deployment(c.namespace, v1.V1Deployment(
        metadata=v1.V1ObjectMeta(name="d"), spec=v1.V1DeploymentSpec(
            selector=v1.V1LabelSelector(match_labels={"app": "d"}),
            template=v1.V1PodTemplateSpec(
                metadata=v1.V1ObjectMeta(labels={"app": "d"}),
                spec=v1.V1PodSpec(containers=[v1.V1Container(name="m", image="i")])))))
    equal((made.spec.replicas, made.metadata.generation), (1, 1))
    equal(c.apps.patch_namespaced_deployment(
        "d", c.namespace, {"spec": {"replicas": 4}}).metadata.generation, 2)
    budgets = v1.PolicyV1Api(c.api)
    budgets.create_namespaced_pod_disruption_budget(c.namespace, v1.V1PodDisruptionBudget(
        metadata=v1.V1ObjectMeta(name="b"), spec=v1.V1PodDisruptionBudgetSpec(
            min_available=1, selector=v1.V1LabelSelector(match_labels={"app": "d"}))))
    equal(names(budgets.list_namespaced_pod_disruption_budget(c.namespace).items), ["b"])
    classes = v1.SchedulingV1Api(c.api)
    equal(classes.create_priority_class(v1.V1PriorityClass(
        metadata=v1.V1ObjectMeta(name=c.namespace), value=7)).value, 7)


@case()
def discovery_and_dynamic_objects(c):
    dynamic = kubernetes.dynamic.DynamicClient(c.api)
    maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    made = maps.create(body=configmap("a", {"x": "1"}), namespace=c.namespace)
    equal(made.data.x, "1")
    maps.create(body=configmap("b"), namespace=c.namespace)
    got = maps.patch(name="b", namespace=c.namespace, body={"data": {"x": "2"}},
                     content_type="application/merge-patch+json")
    equal(got.data.x, "2")
    equal([item.metadata.name for item in maps.get(namespace=c.namespace).items],
          ["a", "b", "kube-root-ca.crt"])
    equal(kubernetes.client.VersionApi(c.api).get_code().major, "1")


main(PythonClientFixture)
