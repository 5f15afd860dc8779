"""kubectl of one version against the rig: KUBECTL names the version ("1.35")."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import threading

import tap
from rig import RestError, Rig, die_with_parent, node, pod
from tap import SLOW, Skip, equal, fail, has

REQUIRED = ("1.20", "1.35")
COMMAND_SECONDS = 20 * SLOW


def clients_folder():
    """Where tests/clients/install brings them."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("PLACET_CLIENTS") or f"{home}/placet/clients")


class Result:
    def __init__(self, done, command):
        self.status, self.out, self.err, self.command = done.returncode, done.stdout, done.stderr, \
            command

    def __str__(self):
        return f"$ {self.command}\nstatus {self.status}\n{self.out}{self.err}"


class Running:
    """A command that goes on; its lines are read as they come."""

    def __init__(self, args, env, command):
        self.command, self.lines, self.at = command, [], 0
        self.process = subprocess.Popen(args, env=env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, bufsize=1, preexec_fn=die_with_parent)
        self.changed, self.ended = threading.Condition(), False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def next(self, word):
        """The next line that has the word, if it has come. Those before it are over."""
        while self.at < len(self.lines):
            self.at += 1
            if word in self.lines[self.at - 1]:
                return self.lines[self.at - 1]
        return None

    def until(self, word):
        """Waits for the next line that has the word; the case's limit ends a wait in vain."""
        with self.changed:
            while True:
                line = self.next(word)
                if line is not None:
                    return line
                if self.ended:
                    fail(f"$ {self.command}\nended without {word!r}:\n" +
                         "\n".join(self.lines))
                self.changed.wait()

    def end(self):
        """Waits for the end; the exit status."""
        self.reader.join()
        return self.process.wait()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class Kubectl:
    """Commands in a namespace of the case's own."""

    def __init__(self, fixture, namespace):
        self.fixture, self.api, self.namespace = fixture, fixture.api, namespace
        self.minor, self.version, self.until = fixture.minor, fixture.version, fixture.until
        self.ns_path = f"/api/v1/namespaces/{namespace}"
        self.dir = fixture.dir / namespace
        self.dir.mkdir()
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                  "clusters": [{"name": "c", "cluster": {
                      "server": f"http://127.0.0.1:{fixture.port}"}}],
                  "contexts": [{"name": "c", "context": {
                      "cluster": "c", "user": "u", "namespace": namespace}}],
                  "users": [{"name": "u", "user": {}}]}
        (self.dir / "config").write_text(json.dumps(config))
        self.env = {"HOME": str(fixture.dir), "KUBECONFIG": str(self.dir / "config"),
                    "PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C"}
        self.api.post("/api/v1/namespaces", {"metadata": {"name": namespace}})

    def args(self, command):
        words = shlex.split(command) if isinstance(command, str) else list(command)
        return [self.fixture.program, *words]

    def run(self, command, given=None, **env):
        """given: text, or an object or a list of them, for stdin."""
        if isinstance(given, list):
            given = {"apiVersion": "v1", "kind": "List", "items": given}
        if isinstance(given, dict):
            given = json.dumps(given)
        done = subprocess.run(self.args(command), input=given or "", text=True,
                              capture_output=True, env={**self.env, **env}, cwd=self.dir,
                              timeout=COMMAND_SECONDS, check=False,
                              preexec_fn=die_with_parent)
        return Result(done, command)

    def __call__(self, command, given=None, **env):
        """What a command prints that must succeed."""
        result = self.run(command, given, **env)
        if result.status != 0:
            fail(f"must succeed:\n{result}")
        return result.out

    def fails(self, command, given=None, status=1, **env):
        """What a command says that must fail."""
        result = self.run(command, given, **env)
        if result.status != status:
            fail(f"must end with {status}:\n{result}")
        return result.err

    def says(self, command, want, given=None):
        """The command succeeds and prints this line, or these lines."""
        got = self(command, given)
        lines = [want] if isinstance(want, str) else want
        equal(got.splitlines(), lines, f"$ {command}")

    def json(self, command):
        return json.loads(self(f"{command} -o json"))

    def start(self, command):
        running = Running(self.args(command), self.env, command)
        self.fixture.running.append(running)
        return running

    # -- objects, without kubectl

    def create(self, kind, *objects):
        return [self.api.post(f"{self.ns_path}/{kind}", one) for one in objects]

    def object(self, kind, name):
        return self.api.get(f"{self.ns_path}/{kind}/{name}")

    def own(self, name):
        """A name for what is in no namespace."""
        return f"{self.namespace}-{name}"

    def node(self, name, **more):
        """A node of the case's own; pods of self.pod() are for these only."""
        labels = {"case": self.namespace, **more.pop("labels", {})}
        return self.api.post("/api/v1/nodes", node(self.own(name), labels=labels, **more))

    def pod(self, name, labels=None, **more):
        selector = {"case": self.namespace, **more.pop("nodeSelector", {})}
        return pod(name, labels, nodeSelector=selector, **more)

    def await_bound(self, *names):
        def bound():
            return all(self.object("pods", name)["spec"].get("nodeName") for name in names)

        self.until(bound, f"{names} are bound")

    def await_pending(self, *names):
        def decided():
            return all(self.object("pods", name)["status"].get("conditions") for name in names)

        self.until(decided, f"{names} are decided")

    def await_gone(self, *paths):
        def gone():
            for path in paths:
                try:
                    self.api.get(path)
                    return False
                except RestError:
                    pass
            return True

        self.until(gone, f"{paths} are gone")

    # -- what differs between versions

    def deleted(self, what, namespaced=True, forced=False):
        place = f" from {self.namespace} namespace" if namespaced and self.minor >= 34 else ""
        kind, name = what.split("/")
        return f'{kind} "{name}" {"force " if forced else ""}deleted{place}'


class KubectlFixture(Rig):
    def __init__(self):
        self.version = os.environ.get("KUBECTL", "1.35")
        self.minor = int(self.version.split(".")[1])
        self.program = str(clients_folder() / f"kubectl-{self.version}" / "kubectl")
        self.running = []
        if not os.access(self.program, os.X_OK):
            if self.version in REQUIRED:
                print(f"1..1\nnot ok 1 - kubectl_{self.version}\n# {self.program} is missing: "
                      "run tests/clients/install")
                raise SystemExit(1)
            raise Skip(f"kubectl {self.version} is not there: tests/clients/install --all")
        super().__init__()

    def enter(self, name):
        for running in self.running:
            running.stop()
        self.running = []
        if "placetd" not in self.processes or name == "the_server_ends_in_order":
            return None
        return Kubectl(self, name.replace("_", "-")[:50])


def kubectl_case(since=0, until=99, **more):
    """A case of the versions of kubectl from 1.since to 1.until."""
    return tap.case(applies=lambda fixture: since <= fixture.minor <= until, **more)


# -- tables --------------------------------------------------------------------------------

AGE = re.compile(r"^(\d+[smhd])+$")


def rows(text):
    """The cells of a table, by the columns of its head; ages are <age>."""
    lines = [line for line in text.splitlines() if line]
    if not lines:
        return []
    starts = [match.start() for match in re.finditer(r"(?:^|(?<=\s\s))\S", lines[0])]
    result = []
    for line in lines:
        cells = [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]
        result.append(["<age>" if AGE.match(cell) else cell for cell in cells])
    return result


def same_table(text, *want):
    """want: lines with the cells parted by |."""
    got = [" | ".join(row).rstrip(" |") for row in rows(text)]
    equal(got, [" | ".join(cell.strip() for cell in line.split("|")).rstrip(" |")
                for line in want])


SCRUBS = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000"),
     "<date>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r'(resourceVersion"?: "?)\d+'), r"\1<n>"),
    (re.compile(r"(?<=  )\d+s(?=\s*$)", re.M), "<age>"),
    (re.compile(r"^(  (?:Normal|Warning) +\S+ +)\d+s +", re.M), r"\1<age>  "),
    (re.compile(r"[ \t]+$", re.M), ""),
)


def has_line(text, name, value):
    """A line of a description: "Name:   value"."""
    if not re.search(rf"^ *{re.escape(name)}:? +{re.escape(value)}\s*$", text, re.M):
        fail(f"no line {name!r} with {value!r} in:\n{text}")


def scrub(text):
    """Without what differs from run to run."""
    for pattern, word in SCRUBS:
        text = pattern.sub(word, text)
    return text


__all__ = ["KubectlFixture", "kubectl_case", "rows", "same_table", "scrub", "has_line", "clients_folder",
           "equal", "has", "fail"]
