#!/usr/bin/env python3
"""kubectl create, run, expose, replace, delete, wait."""
import datetime
import json

from kubectl import KubectlFixture, kubectl_case, same_table
from rig import configmap, pod
from tap import equal, has, main


def in_namespace(k, one):
    return {**one, "metadata": {**one["metadata"], "namespace": k.namespace}}


# -- create --------------------------------------------------------------------------------


@kubectl_case()
def create_from_stdin(k):
    k.says("create -f -", ["configmap/a created", "pod/p created"],
           given=[configmap("a", {"x": "y"}), pod("p")])
    equal(k.object("configmaps", "a")["data"], {"x": "y"})
    has(k.fails("create -f -", given=configmap("a")),
        "Error from server (AlreadyExists): error when creating", 'configmaps "a" already exists')


@kubectl_case()
def create_from_yaml_files(k):
    (k.dir / "all").mkdir()
    (k.dir / "all" / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
                                          "data:\n  key: |\n    two\n    lines\n")
    (k.dir / "all" / "b.json").write_text(json.dumps(configmap("b")))
    k.says("create -f all", ["configmap/a created", "configmap/b created"])
    equal(k.object("configmaps", "a")["data"], {"key": "two\nlines\n"})


@kubectl_case()
def create_with_a_generated_name(k):
    one = configmap("x")
    one["metadata"] = {"generateName": "made-"}
    out = k("create -f - -o name", given=one)
    has(out, "configmap/made-")
    equal(len(out.strip()), len("configmap/made-") + 5)


@kubectl_case()
def create_dry_run(k):
    for where in ("client", "server"):
        has(k(f"create -f - --dry-run={where}", given=configmap("a")),
            f"configmap/a created ({'dry run' if where == 'client' else 'server dry run'})")
    made = json.loads(k("create -f - --dry-run=server -o json", given=pod("p")))
    equal(made["spec"]["schedulerName"], "default-scheduler")
    equal(made["metadata"].get("resourceVersion"), None)
    has(k.fails("get pod p"), "NotFound")


@kubectl_case()
def create_namespace(k):
    name = k.own("other")
    k.says(f"create namespace {name}", f"namespace/{name} created")
    got = k.json(f"get ns {name}")
    equal(got["metadata"]["labels"], {"kubernetes.io/metadata.name": name})
    equal((got["spec"]["finalizers"], got["status"]["phase"]), (["kubernetes"], "Active"))
    k.says(f"get sa,cm -n {name} -o name",
           ["serviceaccount/default", "configmap/kube-root-ca.crt"])
    has(k.fails(f"create ns {name}"), f'namespaces "{name}" already exists')


@kubectl_case()
def create_configmap(k):
    (k.dir / "file.txt").write_text("content")
    k.says("create configmap c --from-literal=a=1 --from-file=file.txt", "configmap/c created")
    equal(k.object("configmaps", "c")["data"], {"a": "1", "file.txt": "content"})


@kubectl_case()
def create_deployment(k):
    k.says("create deployment web --image=nginx:1.25", "deployment.apps/web created")
    spec = k.json("get deployment web")["spec"]
    equal((spec["replicas"], spec["selector"]), (1, {"matchLabels": {"app": "web"}}))
    equal(spec["strategy"], {"type": "RollingUpdate",
                             "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    container = spec["template"]["spec"]["containers"][0]
    equal((container["name"], container["image"], container["imagePullPolicy"]),
          ("nginx", "nginx:1.25", "IfNotPresent"))
    same_table(k("get deployment"), "NAME | READY | UP-TO-DATE | AVAILABLE | AGE",
               "web | 0/1 | 0 | 0 | <age>")
    same_table(k("get deployment -o wide"),
               "NAME | READY | UP-TO-DATE | AVAILABLE | AGE | CONTAINERS | IMAGES | SELECTOR",
               "web | 0/1 | 0 | 0 | <age> | nginx | nginx:1.25 | app=web")


@kubectl_case(since=21)
def create_disruption_budget(k):
    k.says("create pdb b --selector=app=web --min-available=50%",
           "poddisruptionbudget.policy/b created")
    equal(k.json("get pdb b")["spec"],
          {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}})
    same_table(k("get pdb"), "NAME | MIN AVAILABLE | MAX UNAVAILABLE | ALLOWED DISRUPTIONS | AGE",
               "b | 50% | N/A | 0 | <age>")
    k.says("delete pdb b", k.deleted("poddisruptionbudget.policy/b"))


@kubectl_case()
def create_priority_class(k):
    name = k.own("high")
    k.says(f"create priorityclass {name} --value=1000 --description=first",
           f"priorityclass.scheduling.k8s.io/{name} created")
    got = k.json(f"get pc {name}")
    equal((got["value"], got["description"], got["preemptionPolicy"]),
          (1000, "first", "PreemptLowerPriority"))
    k.create("pods", pod("p", priorityClassName=name))
    equal(k.object("pods", "p")["spec"]["priority"], 1000)
    has(k("describe pod p"), f"Priority Class Name:  {name}")
    has(k.fails("create -f -", given=pod("q", priorityClassName="none")), "Forbidden",
        "no PriorityClass with name none was found")


@kubectl_case()
def create_job_and_cronjob(k):
    k.says("create job j --image=busybox -- sleep 1", "job.batch/j created")
    spec = k.json("get job j")["spec"]
    equal((spec["completions"], spec["parallelism"], spec["backoffLimit"]), (1, 1, 6))
    if k.minor > 20:  # 1.20 creates CronJobs of batch/v1beta1
        k.says("create cronjob c --image=busybox --schedule='*/5 * * * *'",
               "cronjob.batch/c created")


@kubectl_case()
def create_services_and_accounts(k):
    k.says("create serviceaccount robot", "serviceaccount/robot created")
    k.says("create service clusterip s --tcp=80:8080", "service/s created")
    equal(k.json("get svc s")["spec"]["ports"],
          [{"name": "80-8080", "port": 80, "protocol": "TCP", "targetPort": 8080}])
    k.says("create deployment web --image=nginx", "deployment.apps/web created")
    k.says("expose deployment web --port=80", "service/web exposed")


@kubectl_case()
def run_a_pod(k):
    k.says("run p --image=nginx --labels=app=x --restart=Never", "pod/p created")
    got = k.object("pods", "p")
    equal((got["spec"]["restartPolicy"], got["metadata"]["labels"]), ("Never", {"app": "x"}))


@kubectl_case()
def unknown_fields_and_bad_values_are_refused(k):
    one = pod("p")
    one["spec"]["wheels"] = 4
    said = k.fails("create -f -", given=one)
    has(said, "wheels")
    has(said, "strict decoding error: unknown field" if k.minor > 24 else "unknown field")
    bad = pod("P_1")
    has(k.fails("create -f -", given=bad), "metadata.name", "Invalid value: \"P_1\"",
        "a lowercase RFC 1123 subdomain must consist of")
    bad = pod("p")
    bad["spec"]["containers"] = []
    has(k.fails("create -f - --validate=false", given=bad), 'The Pod "p" is invalid',
        "spec.containers: Required value")


@kubectl_case()
def bad_quantities_are_refused_in_the_words_of_kubernetes(k):
    bad = pod("p", cpu="-1")
    has(k.fails("create -f -", given=bad), 'The Pod "p" is invalid',
        'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": '
        "must be greater than or equal to 0")


@kubectl_case(since=27)
def unknown_fields_with_a_warning(k):
    one = configmap("c")
    one["wheels"] = 4
    result = k.run("create -f - --validate=warn", given=one)
    equal((result.status, result.out), (0, "configmap/c created\n"))
    has(result.err, 'Warning: unknown field "wheels"')


@kubectl_case()
def a_namespace_that_is_not_there(k):
    has(k.fails("create cm c -n gone"), 'namespaces "gone" not found')


# -- replace -------------------------------------------------------------------------------


@kubectl_case()
def replace(k):
    k.create("configmaps", configmap("c", {"a": "1"}))
    k.says("replace -f -", "configmap/c replaced", given=configmap("c", {"b": "2"}))
    equal(k.object("configmaps", "c")["data"], {"b": "2"})
    stale = k.object("configmaps", "c")
    k.api.patch(f"{k.ns_path}/configmaps/c", {"data": {"x": "y"}})
    has(k.fails("replace -f -", given=stale), "Conflict",
        'Operation cannot be fulfilled on configmaps "c": the object has been modified; '
        "please apply your changes to the latest version and try again")
    has(k.fails("replace -f -", given=configmap("gone")), 'configmaps "gone" not found')


@kubectl_case()
def replace_by_force(k):
    k.create("configmaps", configmap("c", {"a": "1"}))
    uid = k.object("configmaps", "c")["metadata"]["uid"]
    out = k("replace --force -f -", given=configmap("c", {"b": "2"}))
    has(out, 'configmap "c" deleted', "configmap/c replaced")
    got = k.object("configmaps", "c")
    equal((got["data"], got["metadata"]["uid"] == uid), ({"b": "2"}, False))


# -- delete --------------------------------------------------------------------------------


@kubectl_case()
def delete_by_name_label_and_all(k):
    k.create("configmaps", *(configmap(name, labels={"app": "x"}) for name in "ab"),
             configmap("c"))
    k.says("delete cm c", k.deleted("configmap/c"))
    has(k.fails("delete cm c"), 'Error from server (NotFound): configmaps "c" not found')
    equal(k("delete cm c --ignore-not-found"), "")
    k.says("delete cm -l app=x", [k.deleted("configmap/a"), k.deleted("configmap/b")])
    k.create("serviceaccounts", {"metadata": {"name": "s"}})
    k.says("delete sa --all", [k.deleted("serviceaccount/default"), k.deleted("serviceaccount/s")])
    k.says("delete pods --all", "No resources found")


@kubectl_case()
def delete_from_a_file(k):
    k.create("configmaps", configmap("a"), configmap("b"))
    k.says("delete -f -", [k.deleted("configmap/a"), k.deleted("configmap/b")],
           given=[in_namespace(k, configmap("a")), in_namespace(k, configmap("b"))])


@kubectl_case()
def delete_a_pending_pod(k):
    k.create("pods", k.pod("p"))
    k.says("delete pod p", k.deleted("pod/p"))
    has(k.fails("get pod p"), "NotFound")


@kubectl_case()
def delete_by_force(k):
    k.node("n1")
    k.create("pods", k.pod("p"))
    k.await_bound("p")
    result = k.run("delete pod p --grace-period=0 --force")
    equal((result.status, result.out.strip()), (0, k.deleted("pod/p", forced=True)))
    has(result.err.lower(), "immediate deletion does not wait for confirmation")
    has(k.fails("get pod p"), "NotFound")


@kubectl_case()
def delete_a_bound_pod_waits_for_its_member(k):
    k.node("n1")
    k.create("pods", k.pod("p", terminationGracePeriodSeconds=90))
    k.await_bound("p")
    k.says("delete pod p --wait=false", k.deleted("pod/p"))
    got = k.object("pods", "p")
    equal(got["metadata"]["deletionGracePeriodSeconds"], 90)
    left = datetime.datetime.fromisoformat(
        got["metadata"]["deletionTimestamp"].replace("Z", "+00:00")) - \
        datetime.datetime.now(datetime.timezone.utc)
    equal(left.total_seconds() > 20, True, f"{left} until the deletion")
    same_table(k("get pods"), "NAME | READY | STATUS | RESTARTS | AGE | CLUSTER | REASON",
               "p | 0/1 | Terminating | 0 | <age> | default |")
    waiting = k.start("wait --for=delete pod/p --timeout=30s -v=6")
    waiting.until("watch=true")
    k.fixture.run_member()
    equal(waiting.end(), 0)
    k.says("delete pod p --ignore-not-found", [])


@kubectl_case()
def delete_a_namespace_with_content(k):
    name = k.own("full")
    k(f"create ns {name}")
    for one in (configmap("c"), k.pod("p"), {"apiVersion": "v1", "kind": "Service", "metadata": {
            "name": "s"}, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}}):
        k(f"create -n {name} -f -", given=one)
    k.api.post(f"/apis/policy/v1/namespaces/{name}/poddisruptionbudgets", {
        "metadata": {"name": "b"}, "spec": {"minAvailable": 1}})
    k.says(f"delete ns {name}", k.deleted(f"namespace/{name}", namespaced=False))
    has(k.fails(f"get ns {name}"), "NotFound")
    equal(k.api.get(f"/api/v1/namespaces/{name}/configmaps")["items"], [])
    equal(k.api.get(f"/api/v1/namespaces/{name}/pods")["items"], [])
    equal(k.api.get(f"/apis/policy/v1/namespaces/{name}/poddisruptionbudgets")["items"], [])
    k.says(f"create ns {name}", f"namespace/{name} created")


@kubectl_case()
def a_namespace_that_waits_keeps_no_other_waiting(k):
    held = configmap("c")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    names = [k.own(name) for name in ("a", "b", "c")]
    for name in names:
        k.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    for name in (names[0], names[2]):
        k.api.post(f"/api/v1/namespaces/{name}/configmaps", held)
        k.api.delete(f"/api/v1/namespaces/{name}")
    for name in (names[0], names[2]):
        k.until(lambda: "deletionTimestamp" in k.api.get(
            f"/api/v1/namespaces/{name}/configmaps/c")["metadata"])
    k(f"delete ns {names[1]}")
    for name in (names[0], names[2]):
        k.api.patch(f"/api/v1/namespaces/{name}/configmaps/c", {"metadata": {
            "finalizers": None}})
    k.await_gone(*(f"/api/v1/namespaces/{name}" for name in names))


@kubectl_case()
def an_object_waits_for_its_finalizers(k):
    for name in "ab":
        held = configmap(name)
        held["metadata"]["finalizers"] = ["example.com/one", "example.com/two"]
        k.create("configmaps", held)
    k.says("delete cm a --wait=false", k.deleted("configmap/a"))
    k.api.delete(f"{k.ns_path}/configmaps")
    for name in "ab":
        meta = k.object("configmaps", name)["metadata"]
        equal(("deletionTimestamp" in meta, meta["deletionGracePeriodSeconds"]), (True, 0))
    equal(k("get cm -o name").split(), ["configmap/a", "configmap/b"])
    waiting = k.start("delete cm a b -v=6")
    for name in "ab":
        waiting.until("DELETE")
    for name in "ab":
        k(["patch", "cm", name, "--type=json", "-p",
           '[{"op":"remove","path":"/metadata/finalizers/0"}]'])
        equal(k.object("configmaps", name)["metadata"]["finalizers"], ["example.com/two"])
        got = k.api.patch(f"{k.ns_path}/configmaps/{name}", {"metadata": {"finalizers": None}})
        equal(got["metadata"].get("finalizers"), None)
    equal(waiting.end(), 0, "\n".join(waiting.lines))
    equal(k("get cm -o name"), "")


@kubectl_case()
def a_namespace_waits_for_a_finalizer(k):
    name = k.own("held")
    k(f"create ns {name}")
    held = configmap("c")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    k(f"create -n {name} -f -", given=held)
    k.says(f"delete ns {name} --wait=false", k.deleted(f"namespace/{name}", namespaced=False))
    same_table(k(f"get ns {name}"), "NAME | STATUS | AGE", f"{name} | Terminating | <age>")
    has(k.fails(f"create cm d -n {name}"), "forbidden", "because it is being terminated")
    k.until(lambda: "deletionTimestamp" in k.api.get(
        f"/api/v1/namespaces/{name}/configmaps/c")["metadata"])
    k.api.patch(f"/api/v1/namespaces/{name}/configmaps/c", {"metadata": {"finalizers": None}})
    k.await_gone(f"/api/v1/namespaces/{name}")


# -- wait ----------------------------------------------------------------------------------


@kubectl_case()
def wait_for_deletion(k):
    k.create("configmaps", configmap("a"), configmap("b"))
    waiting = k.start("wait --for=delete cm/a cm/b --timeout=20s -v=6")
    for name in "ab":
        waiting.until("watch=true")
        k.api.delete(f"{k.ns_path}/configmaps/{name}")
    equal(waiting.end(), 0)
    equal([line for line in waiting.lines if "condition met" in line],
          ["configmap/a condition met", "configmap/b condition met"])


@kubectl_case()
def wait_for_a_condition(k):
    k.create("pods", k.pod("p"))
    waiting = k.start("wait --for=condition=PodScheduled pod/p --timeout=20s")
    k.node("n1")
    equal((waiting.end(), waiting.lines), (0, ["pod/p condition met"]))
    k.says(["wait", "--for=condition=PodScheduled", "pods", "--all"], "pod/p condition met")
    has(k.fails("wait --for=condition=Ready pod/p --timeout=1s"),
        "timed out waiting for the condition on pods/p")


@kubectl_case(since=23)
def wait_for_a_field(k):
    k.create("configmaps", configmap("c", {"a": "1"}))
    waiting = k.start("wait --for=jsonpath={.data.a}=2 cm/c --timeout=20s")
    k.api.patch(f"{k.ns_path}/configmaps/c", {"data": {"a": "2"}})
    equal((waiting.end(), waiting.lines), (0, ["configmap/c condition met"]))
    k.says(["wait", "--for=jsonpath={.status.phase}=Active", f"ns/{k.namespace}"],
           f"namespace/{k.namespace} condition met")


@kubectl_case(since=31)
def wait_for_creation(k):
    waiting = k.start("wait --for=create cm/late --timeout=20s")
    k.create("configmaps", configmap("late"))
    equal((waiting.end(), waiting.lines), (0, ["configmap/late condition met"]))


main(KubectlFixture)
