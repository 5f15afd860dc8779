#!/usr/bin/env python3
"""The metrics of real processes of placetd: what they say of what was done, as promtool
checks them, and as a real Prometheus scrapes them and answers the queries of
kube-scheduler's dashboards. Prometheus and promtool are Debian's package prometheus.
"""
import json
import math
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

from rig import RestClient, Rig, await_line, free_ports, node, pod, start  # noqa: E402
from tap import SLOW, Skip, case, equal, fail, has, main  # noqa: E402

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SAMPLE = re.compile(r'^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\.)*)",?')
BYTES_MAX = 1 << 20


def parse(text):
    """{(name, ((label, value), ...)): number}; every line must be one."""
    out = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        found = SAMPLE.match(line)
        if found is None:
            fail(f"no sample: {line!r}")
        name, labels, value = found.groups()
        pairs = tuple(LABEL.findall(labels or ""))
        if LABEL.sub("", labels or "") != "":
            fail(f"labels: {line!r}")
        if (name, pairs) in out:
            fail(f"twice: {line!r}")
        out[name, pairs] = float(value)
    return out


class Samples:
    def __init__(self, text):
        self.text, self.all = text, parse(text)

    def find(self, name, **labels):
        return [value for (its, pairs), value in self.all.items()
                if its == name and labels.items() <= dict(pairs).items()]

    def sum(self, name, **labels):
        return sum(self.find(name, **labels))

    def values(self, name, label):
        return [dict(pairs).get(label) for its, pairs in self.all if its == name]


class MetricsRig(Rig):
    """Two placetds: one with the API, one that shows its metrics alone."""

    def up(self):
        for program in ("prometheus", "promtool"):
            if shutil.which(program) is None:
                raise Skip(f"there is no {program}")
        super().up()
        self.alone = self.start_alone("placetd-alone")

    def enter(self, _):
        return self

    def start_alone(self, name, *more):
        def ready(line):
            try:
                event = json.loads(line)
            except ValueError:
                return None
            return event.get("port") if event.get("event") == "metrics.listening" else None

        process = self.run(name, [
            self.placetd, "--etcd", self.endpoint, "--name", name, "--shards", "2",
            "--metrics-listen", ":0", "--log-format", "json", *more])
        port = await_line(self.log(name), process, ready)
        if port is None:
            fail(f"{name} ended:\n{self.log(name).read_text()}")
        return port

    def text(self, port=None, accept="*/*"):
        client = RestClient(port or self.port)
        status, headers, body = client.raw("GET", "/metrics", headers={"Accept": accept})
        equal(status, 200, body[:200])
        return headers["Content-Type"], body.decode()

    def scrape(self, port=None):
        return Samples(self.text(port)[1])

    def both(self, name, **labels):
        """Over both processes: a pod is whoever's its partition is."""
        return sum(self.scrape(port).sum(name, **labels) for port in (self.port, self.alone))

    def make_pods(self, namespace, names, cpu="100m"):
        self.make_namespace(namespace)
        for name in names:
            self.api.post(f"/api/v1/namespaces/{namespace}/pods", pod(name, cpu=cpu))

    def make_namespace(self, name):
        path = "/api/v1/namespaces"
        if name not in [one["metadata"]["name"] for one in self.api.get(path)["items"]]:
            self.api.post(path, {"apiVersion": "v1", "kind": "Namespace",
                                 "metadata": {"name": name}})

    def make_node(self, name, cpu="64"):
        self.api.post("/api/v1/nodes", node(name, cpu=cpu))


def check_metrics(text):
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(),
                          capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode()
    equal((done.returncode, said), (0, ""), "promtool check metrics")


# -- what the metrics say --------------------------------------------------------------------


@case(seconds=60)
def decisions_can_be_seen(k):
    bound = k.both("placet_pods_bound_total")
    scheduled = k.both("scheduler_schedule_attempts_total", result="scheduled")
    k.make_node("seen-1")
    k.make_pods("seen", [f"p-{i}" for i in range(20)])
    k.until(lambda: k.both("placet_pods_bound_total") >= bound + 20, "20 pods are bound")
    equal(k.both("scheduler_schedule_attempts_total", result="scheduled",
                 profile="default-scheduler") >= scheduled + 20, True)
    equal(k.both("scheduler_pod_scheduling_sli_duration_seconds_count") >= 20, True)
    equal(k.both("scheduler_pod_scheduling_attempts_count") >= 20, True)
    equal(k.both("scheduler_framework_extension_point_duration_seconds_count",
                 extension_point="Filter", status="Success") > 0, True)
    equal(k.both("placet_commits_total", outcome="applied") > 0, True)
    equal(k.both("placet_etcd_request_duration_seconds_count", client="shard",
                 operation="txn") > 0, True)
    k.make_pods("seen", ["giant"], cpu="4000")
    k.until(lambda: k.both("scheduler_pending_pods", queue="unschedulable") == 1,
            "a pod waits")
    equal(k.both("scheduler_unschedulable_pods", plugin="NodeResourcesFit"), 1)
    equal(k.both("placet_namespace_pending_pods", namespace="seen"), 1)
    equal(k.both("scheduler_pod_schedule_failed_total", reason="unschedulable") >= 1, True)
    k.api.delete("/api/v1/namespaces/seen/pods/giant")
    k.until(lambda: k.both("scheduler_pending_pods", queue="unschedulable") == 0,
            "no pod waits")


@case()
def partitions_leases_and_nodes_can_be_seen(k):
    k.until(lambda: k.both("placet_partitions_open") == 8, "all partitions are open")
    one = k.scrape()
    equal(one.sum("placet_partitions"), 8)
    equal(one.sum("placet_members"), 4)
    equal(sorted(one.values("placet_partitions_owned", "shard")), ["placetd-0", "placetd-1"])
    equal(all(0 < left <= 10 for left in one.find("placet_lease_safe_seconds")), True)
    equal(one.find("placet_shard_state", state="active"), [1, 1])
    k.make_node("use-1", cpu="4")
    k.until(lambda: k.both("placet_nodes_by_use", resource="cpu") >= 1, "the node is seen")


@case()
def requests_of_the_api_can_be_seen(k):
    before = k.scrape()
    k.api.get("/api/v1/namespaces/default/pods")
    k.api.refuses(404, "GET", "/api/v1/namespaces/default/pods/none")
    k.api.refuses(405, "PATCH", "/api/v1/namespaces/default/pods", {})
    after = k.scrape()

    def more(**labels):
        return after.sum("apiserver_request_total", **labels) - \
            before.sum("apiserver_request_total", **labels)

    equal(more(verb="LIST", resource="pods", version="v1", scope="namespace", code="200"), 1)
    equal(more(verb="GET", resource="pods", scope="resource", code="404"), 1)
    equal(more(code="405"), 1)
    equal(after.sum("apiserver_request_duration_seconds_count", verb="LIST", resource="pods") >
          before.sum("apiserver_request_duration_seconds_count", verb="LIST",
                     resource="pods"), True)
    watch = k.api.watch("/api/v1/nodes", timeoutSeconds=60, sendInitialEvents="true",
                        allowWatchBookmarks="true", resourceVersionMatch="NotOlderThan")
    next(watch)
    equal(k.scrape().sum("apiserver_longrunning_requests", verb="WATCH", resource="nodes"), 1)
    watch.close()
    k.until(lambda: not k.scrape().find("apiserver_longrunning_requests", resource="nodes"),
            "the watch has ended")


@case()
def the_process_and_its_threads_can_be_seen(k):
    for port, threads in ((k.port, ["api", "placetd-0", "placetd-1", "process"]),
                          (k.alone, ["placetd-alone-0", "placetd-alone-1", "process"])):
        one = k.scrape(port)
        equal(sorted(one.values("placet_loop_lag_seconds_count", "thread")), threads)
        equal(one.sum("placet_scrape_threads"), len(threads))
        equal(one.sum("placet_scrape_threads_missing"), 0)
        equal(one.sum("process_resident_memory_bytes") > 1 << 20, True)
        equal(one.sum("process_open_fds") > 3, True)
        equal(one.sum("placet_build_info"), 1)


# -- formats -----------------------------------------------------------------------------------


@case()
def promtool_finds_nothing(k):
    for port in (k.port, k.alone):
        kind, text = k.text(port)
        equal(kind, TEXT)
        check_metrics(text)


@case()
def openmetrics_for_who_asks(k):
    kind, text = k.text(accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    equal(kind, OPEN)
    equal(text.endswith("\n# EOF\n"), True)
    has(text, "# TYPE placet_pods_bound counter\n", "\nplacet_pods_bound_total ",
        "# UNIT placet_loop_lag_seconds seconds\n")
    parse(text)


@case()
def health_without_the_api(k):
    client = RestClient(k.alone)
    equal(client.raw("GET", "/livez")[0], 200)
    k.until(lambda: client.raw("GET", "/readyz")[0] == 200, "it is ready")
    equal(client.raw("GET", "/api/v1/nodes")[0], 404)
    equal(client.raw("POST", "/metrics", b"x")[0], 405)


# -- what clients try --------------------------------------------------------------------------


def send(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=10 * SLOW) as conn:
        conn.sendall(text)
        conn.shutdown(socket.SHUT_WR)
        while conn.recv(65536):
            pass


@case(seconds=60)
def no_client_can_write_into_the_metrics(k):
    """Methods, paths, queries, headers and bodies with what the format means."""
    evil = ['x"} 1\\nplacet_pods_bound_total 666 #', 'a",le="0', "\\", "%0aup 666", "{}",
            "\xff\xfe", "\u202e", "x" * 3000]
    known = set(k.scrape().all)
    for one in evil:
        raw = one.encode("latin-1", "replace").replace(b" ", b"%20")
        quoted = urllib.parse.quote(one).encode()
        for path in (raw, quoted):
            for text in (b"GET /" + path, b"GET /api/v1/" + path, b"GET /apis/" + path,
                         b"GET /api/v1/namespaces/" + path + b"/pods",
                         b"GET /api/v1/namespaces/default/pods/a/" + path,
                         b"POST /api/v1/namespaces/default/pods/a/" + path,
                         b"GET /metrics?" + path, path + b" /api/v1/pods"):
                send(k.port, text + b" HTTP/1.1\r\nHost: localhost\r\nUser-Agent: " + raw +
                     b"\r\nConnection: close\r\n\r\n")
    one = k.scrape()
    check_metrics(one.text)
    equal([value for value in one.all.values() if value == 666], [])
    words = {value for _, pairs in set(one.all) - known for _, value in pairs}
    equal([word for word in words if not re.fullmatch(r"[A-Za-z0-9_.+ -]*", word)], [])


@case(seconds=120)
def namespaces_are_bounded(k):
    for i in range(130):
        k.make_pods(f"many-{i}", ["waits"], cpu="4000")
    k.until(lambda: k.both("placet_namespace_pending_pods") >= 130, "130 pods wait", 60)
    for port in (k.port, k.alone):
        one = k.scrape(port)
        equal(len(one.find("placet_namespace_pending_pods")) <= 101, True)
        equal(len(one.text) <= BYTES_MAX, True)
    for i in range(130):
        k.api.delete(f"/api/v1/namespaces/many-{i}/pods/waits")


@case()
def a_client_that_hangs_does_not_hold_up_others(k):
    with socket.create_connection(("127.0.0.1", k.alone)) as conn:
        conn.sendall(b"GET /metrics HTTP/1.1\r\n")
        k.scrape(k.alone)
    with socket.create_connection(("127.0.0.1", k.alone)) as conn:
        conn.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        k.scrape(k.alone)


# -- Prometheus --------------------------------------------------------------------------------

CONFIG = """
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: placet
    static_configs: [{targets: ["127.0.0.1:%d", "127.0.0.1:%d"]}]
"""

# As kube-scheduler's and kube-apiserver's dashboards and alerts ask.
QUERIES = (
    'sum(up{job="placet"}) == 2',
    'sum(rate(scheduler_schedule_attempts_total[1m])) by (result)',
    'sum(rate(scheduler_schedule_attempts_total{result="scheduled"}[1m])) by (profile)',
    'sum(scheduler_pending_pods) by (queue)',
    'histogram_quantile(0.99, sum(rate('
    'scheduler_pod_scheduling_sli_duration_seconds_bucket[1m])) by (le))',
    'histogram_quantile(0.99, sum(rate('
    'scheduler_scheduling_attempt_duration_seconds_bucket[1m])) by (le, result))',
    'histogram_quantile(0.90, sum(rate(scheduler_framework_extension_point_duration_seconds_'
    'bucket[1m])) by (le, extension_point))',
    'histogram_quantile(0.90, sum(rate('
    'scheduler_plugin_execution_duration_seconds_bucket[1m])) by (le, plugin))',
    'sum(rate(scheduler_pod_scheduling_attempts_sum[1m])) / '
    'sum(rate(scheduler_pod_scheduling_attempts_count[1m]))',
    'sum(rate(scheduler_queue_incoming_pods_total[1m])) by (queue, event)',
    'sum(rate(scheduler_preemption_attempts_total[1m]))',
    'sum(rate(scheduler_preemption_victims_bucket[1m])) by (le)',
    'sum(rate(scheduler_pod_schedule_failed_total[1m])) by (reason)',
    'sum(scheduler_cache_size) by (type)',
    'sum(rate(apiserver_request_total{code=~"2.."}[1m])) by (verb, resource)',
    'histogram_quantile(0.99, sum(rate('
    'apiserver_request_duration_seconds_bucket{verb!="WATCH"}[1m])) by (le, verb))',
    'sum(apiserver_current_inflight_requests) by (request_kind)',
    'rate(process_cpu_seconds_total{job="placet"}[1m])',
    'histogram_quantile(0.99, sum(rate('
    'placet_etcd_request_duration_seconds_bucket[1m])) by (le, operation))',
    'max(placet_watch_lag_revisions)',
    'sum(placet_partitions_owned)',
)


class Prometheus:
    def __init__(self, k):
        (self.port,) = free_ports(1)
        config = k.dir / "prometheus.yml"
        config.write_text(CONFIG % (k.port, k.alone))
        log = open(k.log("prometheus"), "ab")
        k.processes["prometheus"] = start([
            "prometheus", f"--config.file={config}", f"--storage.tsdb.path={k.dir}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}"], log, cwd=k.dir)
        log.close()
        self.api = RestClient(self.port)
        k.until(self.is_ready, "Prometheus is ready", 60)

    def is_ready(self):
        try:
            return self.api.raw("GET", "/-/ready")[0] == 200
        except OSError:
            return False

    def targets(self):
        return self.api.get("/api/v1/targets")["data"]["activeTargets"]

    def query(self, text):
        """The values of the answer."""
        answer = self.api.get("/api/v1/query?" + urllib.parse.urlencode({"query": text}))
        equal(answer["status"], "success", text)
        return [float(one["value"][1]) for one in answer["data"]["result"]]


@case(seconds=180)
def a_real_prometheus_scrapes_and_answers_dashboards(k):
    prometheus = Prometheus(k)
    k.until(lambda: all(one["health"] == "up" for one in prometheus.targets()) and
            len(prometheus.targets()) == 2, "both targets are up", 60)
    k.make_node("graphed")
    serial = iter(range(1000))

    def is_answered(text):
        k.make_pods("graphed", [f"p-{next(serial)}"])
        values = prometheus.query(text)
        return values and not all(math.isnan(one) for one in values)

    for text in QUERIES:
        k.until(lambda text=text: is_answered(text), text, 30)
    equal([one["lastError"] for one in prometheus.targets()], ["", ""])


# -- many shards -------------------------------------------------------------------------------


@case(seconds=120)
def sixteen_shards_fit_into_a_megabyte(k):
    port = k.start_alone("placetd-wide", "--shards", "16", "--prefix", "/wide")
    client = RestClient(port)
    k.until(lambda: client.raw("GET", "/readyz")[0] == 200, "16 shards are ready", 60)
    one = k.scrape(port)
    equal(one.sum("placet_scrape_threads"), 17)
    equal(len(one.find("placet_partitions_owned")), 16)
    equal(len(one.text) <= BYTES_MAX, True, f"{len(one.text)} bytes")
    check_metrics(one.text)


if __name__ == "__main__":
    main(MetricsRig)
