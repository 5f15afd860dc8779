#!/usr/bin/env python3
"""Bad requests of every kind, each with the answer that it must get: bad/*.txt.

An entry of these files:

    ## group: what is bad
    METHOD PATH                  $NS, $APPS: the namespace default of core and of apps
    Header: value                "Content-Type:" alone: none is sent
    < a line of the body         <x: with escapes of Python; << a Python expression
    > a line of a raw request    instead of all of that; \\r\\n ends each, escapes of Python
    = CODE REASON                of the HTTP answer and of its Status ("-": any, or none);
                                 what follows "," is as good
    ~ part of the message
    ! a field that has a cause
    * why the answer is not that of Kubernetes
    @closes                      the server closes the connection behind its answer
    @todo why                    the answer is known to be another one yet

{{...}} in a path is a Python expression. Nothing is stored: the collection of the path, and
after each group all collections, have the same objects in the same versions as before.
"""
import gzip
import http.client
import itertools
import json
import pathlib
import re
import resource
import socket
import time

from rig import Rig, RestClient, configmap, node, pod
from tap import SLOW, Skip, case, equal, fail, main

HERE = pathlib.Path(__file__).resolve().parent
NAMESPACE = "/api/v1/namespaces/default"
SHORT = {"$NS": NAMESPACE, "$APPS": "/apis/apps/v1/namespaces/default"}
SETTLED = 60  # seconds until the objects that the requests are about stand
MEMORY_GROWTH_MAX = 192 << 20  # of all bad requests, under a sanitizer
READ_MAX = 32 << 20
IDLE, HALVES, FLOODS, DEAF = 10000, 2000, 50, 1000
LARGE, LARGE_BYTES = 20, 20000
DEAF_BYTES_MAX = 1 << 30  # with 400 KB on its way to each
ANSWER_SECONDS_MAX = 1.0  # while others misbehave, under a sanitizer
# Kinds whose objects change without a client.
ALIVE = ("events", "leases", "explanations", "shards", "partitions", "clusters", "plans",
         "gangs", "configs")


# -- what the expressions of entries use ---------------------------------------------------


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, content):
    """A field of protobuf with a length."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def meta(name):
    """An object with nothing but a name."""
    return field(1, field(1, name))


def unknown(version, kind, raw, encoding=""):
    """The envelope of Kubernetes' protobuf."""
    head = field(1, field(1, version) + field(2, kind))
    return b"k8s\0" + head + field(2, raw) + (field(3, encoding) if encoding else b"")


def nested(depth):
    out = b""
    for _ in range(depth):
        out = field(1, out)
    return out


WORDS = {"K": 1 << 10, "M": 1 << 20, "gzip": gzip, "json": json, "field": field,
         "meta": meta, "unknown": unknown, "nested": nested, "varint": varint}


def evaluate(text):
    value = eval(text, dict(WORDS))  # the files are part of this program
    return value if isinstance(value, bytes) else str(value).encode()


def unescape(text):
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


# -- entries ---------------------------------------------------------------------------------


class Entry:
    def __init__(self, place, name):
        self.place, self.name = place, name
        self.method, self.path, self.headers = None, None, {}
        self.body, self.raw = None, None
        self.codes, self.reasons = [], []
        self.parts, self.fields = [], []
        self.closes, self.why, self.todo = False, "", None

    def add_body(self, data):
        self.body = data if self.body is None else self.body + b"\n" + data

    def add(self, line):
        mark, _, rest = line.partition(" ")
        if mark == "<":
            self.add_body(rest.encode())
        elif mark == "<x":
            self.add_body(unescape(rest))
        elif mark == "<<":
            self.add_body(evaluate(rest))
        elif mark == ">":
            self.raw = (self.raw or b"") + unescape(expand(rest)) + b"\r\n"
        elif mark == ">>":
            self.raw = (self.raw or b"") + evaluate(rest)
        elif mark == "=":
            codes, _, reasons = rest.partition(" ")
            self.codes = [int(code) for code in codes.split(",")]
            self.reasons = reasons.split(",")
        elif mark == "~":
            self.parts.append(rest)
        elif mark == "!":
            self.fields.append(rest)
        elif mark == "*":
            self.why += rest
        elif mark == "@todo":
            self.todo = rest
        elif mark == "@closes":
            self.closes = True
        elif self.path is None and self.raw is None:
            self.method, self.path = mark, expand(rest)
        elif self.path is not None and mark.endswith(":"):
            self.headers[mark[:-1]] = rest
        else:
            raise SystemExit(f"{self.place}: what is {line!r}?")


def expand(path):
    for word, text in SHORT.items():
        path = path.replace(word, text)
    return re.sub(r"\{\{(.*?)\}\}", lambda m: evaluate(m.group(1)).decode(), path)


def read_entries(path):
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("## "):
            entries.append(Entry(f"{path.name}:{number}", line[3:]))
        elif line and not line.startswith("# "):
            entries[-1].add(line)
    for entry in entries:
        if not entry.codes or (entry.path is None) == (entry.raw is None):
            raise SystemExit(f"{entry.place}: half an entry")
    return entries


# -- requests --------------------------------------------------------------------------------


def head_of(entry):
    lines = [f"{entry.method} {entry.path} HTTP/1.1", "Host: localhost"]
    headers = dict(entry.headers)
    if entry.body is not None:
        headers.setdefault("Content-Type", "application/json")
        headers["Content-Length"] = str(len(entry.body))
    lines += [f"{name}: {value}" for name, value in headers.items()
              if value or name != "Content-Type"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Answer:
    def __init__(self, code, headers, body, closed):
        self.code, self.headers, self.body, self.closed = code, headers, body, closed
        try:
            self.status = json.loads(body)
        except ValueError:
            self.status = {}
        if not isinstance(self.status, dict):
            self.status = {}

    def __str__(self):
        return f"HTTP {self.code} {self.body[:600]!r}"


def is_closed(sock):
    """Whether the server closes: nothing more comes, but the end."""
    sock.settimeout(10 * SLOW)
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True
    except socket.timeout:
        return False


def exchange(port, data, method="GET", closes=False):
    """Sends bytes on a connection of their own, and reads one answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW) as sock:
        try:
            sock.sendall(data)
        except ConnectionError:
            pass  # the answer has come before all was taken
        answer = http.client.HTTPResponse(sock, method=method)
        try:
            answer.begin()
            body = answer.read(READ_MAX)
        except (http.client.BadStatusLine, ConnectionError) as error:
            return Answer(0, {}, repr(error).encode(), True)
        return Answer(answer.status, answer.headers, body, closes and is_closed(sock))


def send(port, entry):
    data = entry.raw if entry.raw is not None else head_of(entry) + (entry.body or b"")
    return exchange(port, data, entry.method or "GET", entry.closes)


def judge(entry, answer):
    wrong = []
    if answer.code not in entry.codes:
        wrong.append(f"the code is not {entry.codes}")
    if "-" not in entry.reasons and answer.status.get("reason") not in entry.reasons:
        wrong.append(f"the reason is not {entry.reasons}")
    if answer.code >= 400 and answer.status.get("kind") == "Status":
        if answer.status.get("code") != answer.code or answer.status["status"] != "Failure":
            wrong.append("the Status does not say what HTTP says")
    elif "-" not in entry.reasons:
        wrong.append("it is no Status")
    text = answer.status.get("message", "")
    wrong += [f"the message has no {part!r}" for part in entry.parts if part not in text]
    causes = (answer.status.get("details") or {}).get("causes") or []
    named = [cause.get("field") for cause in causes]
    wrong += [f"no cause names {one}" for one in entry.fields if one not in named]
    if entry.closes and not answer.closed:
        wrong.append("the connection stays open")
    return wrong


# -- the server's objects ----------------------------------------------------------------------


def workload(kind, name, **spec):
    labels = {"app": name}
    template = {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}


class BadRequests(Rig):
    def up(self):
        super().up()
        self.collections = self.find_collections()
        self.make_objects()
        self.rest = self.until(self.settled, "the objects stand", SETTLED)
        self.memory = self.resident()

    def enter(self, name):
        return self

    def resident(self):
        pid = self.processes["placetd"].pid
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) << 10

    def find_collections(self):
        out = []
        groups = [g["preferredVersion"]["groupVersion"]
                  for g in self.api.get("/apis")["groups"]]
        for root in ["/api/v1"] + [f"/apis/{group}" for group in groups]:
            out += [f"{root}/{r['name']}" for r in self.api.get(root)["resources"]
                    if "list" in r["verbs"] and r["name"] not in ALIVE]
        return out

    def versions(self, collection):
        items = self.api.get(collection)["items"]
        return {(i["metadata"].get("namespace"), i["metadata"]["name"]):
                i["metadata"].get("resourceVersion") for i in items}

    def everything(self):
        return {one: self.versions(one) for one in self.collections}

    def remove_new(self, collection, was):
        """So that one wrong answer is not the cause of others."""
        root, _, plural = collection.rpartition("/")
        for namespace, name in set(self.rest[collection]) - set(was):
            where = f"{root}/namespaces/{namespace}" if namespace else root
            self.api.raw("DELETE", f"{where}/{plural}/{name}?gracePeriodSeconds=0")
            self.until(lambda: self.api.raw("GET", f"{where}/{plural}/{name}")[0] == 404)
        self.rest[collection] = self.versions(collection)

    def collection_of(self, path):
        """The collection that a path is about; None: there is none."""
        path = re.sub(r"/namespaces/[^/]+/", "/", path.partition("?")[0] + "/")
        for one in self.collections:
            if path.startswith(one + "/"):
                return one
        return None

    def make_objects(self):
        api = self.api
        api.post("/api/v1/nodes", node("n1"))
        api.post("/apis/scheduling.k8s.io/v1/priorityclasses",
                 {"metadata": {"name": "high"}, "value": 1000})
        api.post("/api/v1/namespaces", {"metadata": {"name": "going"}})
        stays = pod("stays", terminationGracePeriodSeconds=3600)
        for path, body in [
                (f"{NAMESPACE}/configmaps", configmap("plain", {"a": "b"})),
                (f"{NAMESPACE}/configmaps", {**configmap("frozen", {"a": "b"}),
                                             "immutable": True}),
                (f"{NAMESPACE}/pods", pod("bound", {"app": "bound"})),
                (f"{NAMESPACE}/pods", pod("gated", schedulingGates=[{"name": "a/b"}])),
                (f"{NAMESPACE}/pods", pod("waiting", nodeSelector={"no": "node"})),
                ("/api/v1/namespaces/going/pods", stays),
                (f"{NAMESPACE}/services", {
                    "metadata": {"name": "svc"},
                    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
                (f"{NAMESPACE}/persistentvolumeclaims", {
                    "metadata": {"name": "claim"},
                    "spec": {"accessModes": ["ReadWriteOnce"],
                             "resources": {"requests": {"storage": "1Gi"}}}}),
                ("/apis/storage.k8s.io/v1/storageclasses", {
                    "metadata": {"name": "fast"}, "provisioner": "example.com/fast"}),
                ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
                    "metadata": {"name": "tight"},
                    "spec": {"minAvailable": 1,
                             "selector": {"matchLabels": {"app": "bound"}}}}),
                (f"{SHORT['$APPS']}/deployments", workload("Deployment", "web")),
                (f"{SHORT['$APPS']}/replicasets", workload("ReplicaSet", "rs")),
                (f"{SHORT['$APPS']}/statefulsets",
                 workload("StatefulSet", "db", serviceName="db"))]:
            api.post(path, body)
        api.call("PATCH", f"{NAMESPACE}/configmaps/owned?fieldManager=owner", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"},
            "data": {"a": "owner"}}, kind="application/apply-patch+yaml")
        self.until(lambda: api.get("/api/v1/namespaces/going/pods/stays")["spec"].get(
            "nodeName"), "a pod is bound", SETTLED)
        api.delete("/api/v1/namespaces/going")  # nobody ends its pod, so it stays

    def settled(self):
        """Everything, once the server has done all that follows from make_objects()."""
        api, going = self.api, "/api/v1/namespaces/going"
        pods = {i["metadata"]["name"]: i for i in api.get("/api/v1/pods")["items"]}
        budget = api.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/tight")
        left = [i for kind in ("configmaps", "serviceaccounts")
                for i in api.get(f"{going}/{kind}")["items"]]
        if (pods["bound"]["spec"].get("nodeName") and
                pods["waiting"]["status"].get("conditions") and
                "deletionTimestamp" in pods["stays"]["metadata"] and not left and
                api.get(going)["status"]["phase"] == "Terminating" and
                budget["status"].get("expectedPods") == 1):
            return self.everything()
        return None


# -- cases ---------------------------------------------------------------------------------------


def make_case(entry):
    def one(rig):
        about = rig.collection_of(entry.path) if entry.path else None
        wrong = judge(entry, answer := send(rig.port, entry))
        if about is not None:
            was, rig.rest[about] = rig.rest[about], rig.versions(about)
            if rig.rest[about] != was:
                rig.remove_new(about, was)
                wrong.append(f"{about} changed: {was} to {rig.rest[about]}")
        if wrong:
            fail(f"{entry.place}: {'; '.join(wrong)}\n{answer}")

    one.__name__ = re.sub(r"[^a-z0-9]+", "_", entry.name.lower()).strip("_")
    return one


def make_end(name):
    def one(rig):
        was, rig.rest = rig.rest, rig.everything()
        equal(rig.rest, was, f"something of {name} is stored")

    one.__name__ = f"nothing_of_{name}_is_stored"
    return one


ENTRIES = {path.stem: read_entries(path) for path in sorted((HERE / "bad").glob("*.txt"))}

for group, entries in ENTRIES.items():
    for each in entries:
        case(comes_with=each.todo)(make_case(each))
    case()(make_end(group))


@case()
def there_are_enough_of_them_and_none_twice(_):
    names = [entry.name for entry in itertools.chain(*ENTRIES.values())]
    equal(len(names), len(set(names)), "names")
    if len(names) < 300:
        fail(f"only {len(names)} entries")


@case()
def memory_stays_bounded(rig):
    grown = rig.resident() - rig.memory
    if grown > MEMORY_GROWTH_MAX:
        fail(f"grown by {grown >> 20} MiB")


# -- clients that do not behave ------------------------------------------------------------------


def allow_files():
    """As many as may be; their number."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def connect(port, count):
    """count connections; raises Skip when there may not be as many."""
    if allow_files() < count + 1000:
        raise Skip(f"a process may not have {count} files")
    sockets = []
    try:
        for _ in range(count):
            sockets.append(socket.create_connection(("127.0.0.1", port), 30 * SLOW))
    except OSError:
        hang_up(sockets)
        raise
    return sockets


def hang_up(sockets):
    for one in sockets:
        one.close()


def well_behaved(rig, rounds=50):
    """A client that reads, writes and finds what it has written. The slowest answer."""
    client, slowest = RestClient(rig.port), 0.0
    path = f"{NAMESPACE}/configmaps"
    for number in range(rounds):
        begin = time.monotonic()
        if number % 10 == 0:
            client.post(path, configmap(f"behaved-{number}"))
            client.delete(f"{path}/behaved-{number}")
        equal(client.get(f"{path}/plain")["data"], {"a": "b"})
        slowest = max(slowest, time.monotonic() - begin)
    return slowest


def stays_quick(rig, about):
    slowest = well_behaved(rig)
    if slowest > ANSWER_SECONDS_MAX * SLOW:
        fail(f"with {about} an answer takes {slowest:.3f} s")


@case(seconds=60)
def idle_connections_hurt_nobody(rig):
    sockets = connect(rig.port, IDLE)
    try:
        stays_quick(rig, f"{IDLE} idle connections")
    finally:
        hang_up(sockets)


@case(seconds=60)
def half_requests_hurt_nobody(rig):
    sockets = connect(rig.port, HALVES)
    try:
        for one in sockets:
            one.sendall(b"POST /api/v1/namespaces HTTP/1.1\r\nContent-Length: 9\r\nX-A: ")
        stays_quick(rig, f"{HALVES} half requests")
    finally:
        hang_up(sockets)


@case(seconds=120)
def clients_that_stop_reading_hurt_nobody(rig):
    """Watches of many large objects, of which nobody reads a byte."""
    client = RestClient(rig.port)
    path = f"{NAMESPACE}/configmaps"
    for number in range(LARGE):
        client.post(path, configmap(f"large-{number}", {"a": "x" * LARGE_BYTES}))
    before = rig.resident()
    sockets = connect(rig.port, DEAF)
    try:
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.sendall(f"GET {path}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        for number in range(LARGE):
            client.patch(f"{path}/large-{number}", {"data": {"b": "y"}})
        stays_quick(rig, f"{DEAF} clients that do not read")
        held = rig.resident() - before
        if held > DEAF_BYTES_MAX:
            fail(f"{DEAF} clients that do not read hold {held >> 20} MiB")
    finally:
        hang_up(sockets)
        for number in range(LARGE):
            client.delete(f"{path}/large-{number}")


@case(seconds=60)
def floods_of_garbage_hurt_nobody(rig):
    """Pipelined requests without an end, of which no answer is read."""
    sockets = connect(rig.port, FLOODS)
    flood = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000 + b"\xff" * 10000
    try:
        for one in sockets:
            one.settimeout(0)
            try:
                one.send(flood)
            except (BlockingIOError, ConnectionError):
                pass
        stays_quick(rig, f"{FLOODS} floods")
    finally:
        hang_up(sockets)


@case()
def a_normal_client_works_afterwards(rig):
    client = RestClient(rig.port)
    client.post(f"{NAMESPACE}/configmaps", configmap("good"))
    client.patch(f"{NAMESPACE}/configmaps/good", {"data": {"a": "b"}})
    equal(client.get(f"{NAMESPACE}/configmaps/good")["data"], {"a": "b"})
    client.post(f"{NAMESPACE}/pods", pod("good"))
    rig.until(lambda: client.get(f"{NAMESPACE}/pods/good")["spec"].get("nodeName"))
    client.delete(f"{NAMESPACE}/configmaps/good")


if __name__ == "__main__":
    main(BadRequests)
