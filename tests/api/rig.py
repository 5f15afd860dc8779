"""A real etcd and a real placetd for tests of the API, on free loopback ports and in a
fresh directory, and a plain HTTP client of the API (RestClient).

Everything ends with the program, however it ends.
"""
import ctypes
import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

from tap import SLOW, fail

STARTS_MAX = 5  # with other ports, when one was taken in between
START_SECONDS = 30 * SLOW
PARTITIONS = 8
SANITIZER_WORDS = ("Sanitizer", "runtime error:", "Assertion")


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def start(args, log, **more):
    return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                            preexec_fn=die_with_parent, **more)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Growth:
    """A descriptor that is readable when the file has been written to (inotify)."""
    IN_MODIFY, FLAGS = 2, os.O_CLOEXEC | os.O_NONBLOCK

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(self.FLAGS)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, os.fsencode(path), self.IN_MODIFY) < 0:
            raise OSError(ctypes.get_errno(), f"inotify of {path}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def fileno(self):
        return self.fd

    def forget(self):
        """What was written until now is known."""
        try:
            os.read(self.fd, 4096)
        except BlockingIOError:
            pass


def await_line(path, process, found, seconds=START_SECONDS, behind=0):
    """Reads the growing file until found(line) gives something; None: the process ended."""
    end = time.monotonic() + seconds
    with open(path, errors="replace") as file, Growth(path) as growth, \
            open(os.pidfd_open(process.pid), "rb", buffering=0) as exit_of:
        file.seek(behind)
        rest = ""
        while time.monotonic() < end:
            growth.forget()
            ended = process.poll() is not None
            rest += file.read()
            while "\n" in rest:
                line, rest = rest.split("\n", 1)
                result = found(line)
                if result is not None:
                    return result
            if ended:
                return None
            select.select([growth, exit_of], [], [], max(0, end - time.monotonic()))
    fail(f"{path} does not say what is waited for")


class StoreChanges:
    """Waits for changes of an etcd, of any key."""

    def __init__(self, endpoint):
        self.connection = http.client.HTTPConnection(urllib.parse.urlparse(endpoint).netloc,
                                                     timeout=START_SECONDS)
        every_key = {"create_request": {"key": "AA==", "range_end": "AA=="}}
        self.connection.request("POST", "/v3/watch", json.dumps(every_key))
        self.lines = self.connection.getresponse()
        self.lines.readline()  # it stands: what changes from now on comes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def next(self, end):
        """False: no change came until then."""
        self.connection.sock.settimeout(max(0.001, end - time.monotonic()))
        try:
            return self.lines.readline() != b""
        except TimeoutError:
            return False


class RestError(Exception):
    def __init__(self, status):
        super().__init__(f"{status.get('code')} {status.get('reason')}: {status.get('message')}")
        self.status = status


class RestClient:
    """Requests with JSON bodies; one connection for each thread."""

    def __init__(self, port):
        self.port, self.local = port, threading.local()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30 * SLOW)

    def raw(self, method, path, body=None, headers=()):
        """(HTTP status, headers, bytes)"""
        if getattr(self.local, "connection", None) is None:
            self.local.connection = self.connection()
        connection = self.local.connection
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except Exception:
            self.local.connection = None
            raise

    def call(self, method, path, body=None, kind="application/json", accept="application/json"):
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = kind
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        status, _, text = self.raw(method, path, body, headers)
        answer = json.loads(text) if text else {}
        if status >= 400:
            raise RestError(answer)
        return answer

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body):
        return self.call("POST", path, body)

    def put(self, path, body):
        return self.call("PUT", path, body)

    def delete(self, path, options=None):
        return self.call("DELETE", path, options)

    def patch(self, path, body, kind="application/merge-patch+json"):
        return self.call("PATCH", path, body, kind)

    def refuses(self, code, method, path, body=None, **more):
        """The Status of a request that must fail with that code."""
        try:
            got = self.call(method, path, body, **more)
        except RestError as error:
            if error.status.get("code") != code:
                fail(f"{method} {path}: want {code}, got {error}")
            return error.status
        return fail(f"{method} {path} must be refused with {code}, but gave {got}")

    def watch(self, path, **query):
        """Yields events as they come, until the server ends the watch."""
        query = {"watch": "true", **{k: str(v) for k, v in query.items()}}
        connection = self.connection()
        try:
            connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}",
                               headers={"Accept": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise RestError(json.loads(answer.read()))
            for line in answer:
                yield json.loads(line)
        finally:
            connection.close()


class Rig:
    """etcd and placetd. up() starts them, down() ends them and judges how they ended."""

    def __init__(self):
        self.placetd, self.placet = os.environ.get("PLACETD"), os.environ.get("PLACET")
        if not self.placetd or not os.access(self.placetd, os.X_OK):
            raise SystemExit("PLACETD names no program")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="placet-api-"))
        self.processes = {}
        self.port, self.api, self.endpoint = None, None, None
        self.options = []  # of placetd, beside the rig's own

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def log(self, name):
        return self.dir / f"{name}.log"

    def run(self, name, args, **more):
        with open(self.log(name), "ab") as log:
            self.processes[name] = start(args, log, cwd=self.dir, **more)
        return self.processes[name]

    def start_etcd(self):
        def ready(line):
            return True if "ready to serve client requests" in line else None

        for _ in range(STARTS_MAX):
            client, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
            process = self.run("etcd", [
                "etcd", "--data-dir", str(self.dir / "etcd"), "--unsafe-no-fsync",
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", f"default={peer}",
                # A consistent read waits for the progress of a watch.
                "--experimental-watch-progress-notify-interval=1s"])
            if await_line(self.log("etcd"), process, ready):
                self.endpoint = client
                return
            shutil.rmtree(self.dir / "etcd", ignore_errors=True)
            self.log("etcd").unlink()
        fail("etcd does not start")

    def start_placetd(self, name="placetd", port=0):
        """The port of its API, once it serves. port 0: any free one."""
        def ready(line):
            try:
                event = json.loads(line)
            except ValueError:
                return None
            return event.get("port") if event.get("event") == "api.ready" else None

        behind = self.log(name).stat().st_size if self.log(name).exists() else 0
        process = self.run(name, [
            self.placetd, "--etcd", self.endpoint, "--name", name, "--shards", "2",
            "--partitions", str(PARTITIONS), "--api-listen",
            f"127.0.0.1:{port}", "--log-format", "json", *self.options])
        port = await_line(self.log(name), process, ready, behind=behind)
        if port is None:
            fail(f"{name} ended:\n{self.log(name).read_text()}")
        return port

    def second_placetd(self):
        """A client of another server over the same store."""
        return RestClient(self.start_placetd("placetd-2"))

    def up(self):
        self.start_etcd()
        self.port = self.start_placetd()
        self.api = RestClient(self.port)

    def run_member(self, cluster="default"):
        """The member of a cluster: bound pods that terminate end there."""
        self.run(f"member-{cluster}", [
            self.placet, "sim-cluster", "--cluster", cluster, "--run", "--grace", "50ms",
            "--endpoints", self.endpoint])

    def down(self):
        for name, process in list(self.processes.items()):
            if name.startswith("placetd"):
                self.end_placetd(name, process)

    def end_placetd(self, name, process):
        process.terminate()
        status = process.wait(timeout=50)
        text = self.log(name).read_text(errors="replace")
        bad = [line for line in text.splitlines() if any(w in line for w in SANITIZER_WORDS)]
        if status != 0 or bad:
            fail(f"{name} ended with {status}:\n{text[-20000:]}")

    def story(self):
        """What helps to understand a failure."""
        path = self.log("placetd")
        if not path.exists():
            return ""
        lines = path.read_text(errors="replace").splitlines()
        return "\n-- the end of placetd's log\n" + "\n".join(lines[-15:]) + "\n"

    def until(self, holds, about="", seconds=15):
        """Gives holds(), once it is true: it is asked again after each change of the store."""
        end = time.monotonic() + seconds * SLOW
        with StoreChanges(self.endpoint) as changes:
            while True:
                result = holds()
                if result:
                    return result
                if time.monotonic() > end or not changes.next(end):
                    fail(f"waited in vain: {about or holds}")


# -- objects ------------------------------------------------------------------------------


def node(name, cpu="8", memory="16Gi", pods="110", labels=None, **spec):
    sizes = {"cpu": cpu, "memory": memory, "pods": pods}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name,
                         "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": spec,
            "status": {"capacity": sizes, "allocatable": sizes,
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, labels=None, cpu="100m", **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": labels} if labels else {"name": name},
            "spec": {"containers": [{"name": "main", "image": "nginx:1.25",
                                     "resources": {"requests": {"cpu": cpu}}}], **spec}}


def configmap(name, data=None, labels=None):
    meta = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data or {}}
