#!/usr/bin/env python3
"""LIST = GET = watch: writers create, change and delete objects at random, while watchers
follow everything from the beginning. In the end the state that each watcher has folded
from its events, what LIST gives, and what GET gives of each object are the same,
resourceVersions included; no event came twice or out of order, and what happens to the
informer of a client that stops and comes back is the same again.

T_SEED chooses the operations; the interleaving of writers is the machine's.
"""
import random
import threading
import time

from rig import Rig, RestError, configmap, node, pod
from tap import SLOW, case, equal, fail, main, seed

WRITERS = 3
OPERATIONS = 120  # of each writer
NAMES = 12        # of each writer, used again and again
NODES = 3


class Fold:
    """A watcher's state: what its events make of an empty beginning."""

    def __init__(self, api, path, version=None, state=None, **query):
        self.api, self.path, self.query = api, path, query
        self.version, self.state = version, dict(state or {})
        self.first = int(version) if version else 0
        self.failure, self.events, self.bookmarks = None, 0, 0
        self.at = threading.Condition()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    @staticmethod
    def key(one):
        return one["metadata"].get("namespace", ""), one["metadata"]["name"]

    def _apply(self, kind, one):
        version = int(one["metadata"]["resourceVersion"])
        key = self.key(one)
        if version == self.first:
            # What a revision changed that changed several objects is told again.
            self._again(kind, key, version)
            return
        if kind == "ADDED":
            # The objects that are there at the beginning come in the order of names.
            if key in self.state:
                fail(f"{key} is ADDED twice, at {version}")
        elif key not in self.state:
            fail(f"{key} is {kind} at {version}, but was not there")
        if key in self.state and version <= int(self.state[key]["metadata"]["resourceVersion"]):
            fail(f"{key} goes back to {version}")
        if kind == "DELETED":
            del self.state[key]
        else:
            self.state[key] = one

    def _again(self, kind, key, version):
        known = self.state[key]["metadata"]["resourceVersion"] if key in self.state else None
        wanted = None if kind == "DELETED" else str(version)
        if known != wanted:
            fail(f"{key} is {kind} at {version} again, and was at {known} in the list")

    def _follow(self):
        query = {"resourceVersion": self.version} if self.version else {}
        try:
            for event in self.api.watch(self.path, **query, **self.query,
                                        allowWatchBookmarks="true"):
                with self.at:
                    one = event["object"]
                    if event["type"] == "BOOKMARK":
                        self.bookmarks += 1
                    elif event["type"] == "ERROR":
                        fail(f"ERROR: {one}")
                    else:
                        self._apply(event["type"], one)
                        self.events += 1
                    self.version = one["metadata"]["resourceVersion"]
                    self.at.notify_all()
        except Exception as error:
            self.failure = error
        with self.at:
            self.failure = self.failure or EOFError("the watch has ended")
            self.at.notify_all()

    def until(self, key, gone):
        """Waits for the last object of a kind, which ends what is to be compared."""
        with self.at:
            while (key in self.state) == gone:
                if self.failure is not None:
                    raise self.failure
                self.at.wait(1)


class Writer(threading.Thread):
    """Creates, changes and deletes objects of its own names in one namespace."""

    def __init__(self, api, path, first, number, make, change):
        super().__init__(daemon=True)
        self.api, self.path, self.number = api, path, number
        self.make, self.change = make, change
        self.random = random.Random(first * 1000 + number)
        self.failure, self.done = None, {"create": 0, "change": 0, "delete": 0}

    def step(self):
        name = f"w{self.number}-{self.random.randrange(NAMES)}"
        what = self.random.choice(("create", "create", "change", "change", "delete"))
        try:
            if what == "create":
                self.api.post(self.path, self.make(name, self.random))
            elif what == "change":
                self.change(self.api, f"{self.path}/{name}", self.random)
            else:
                self.api.delete(f"{self.path}/{name}")
        except RestError as error:
            # There already, not there, or changed by the scheduler meanwhile.
            if error.status.get("code") not in (404, 409):
                raise
            return
        self.done[what] += 1

    def run(self):
        try:
            for _ in range(OPERATIONS):
                self.step()
        except Exception as error:
            self.failure = error


def patched(api, path, body):
    """A PATCH without a version is not refused for what others have written."""
    try:
        return api.patch(path, body)
    except RestError as error:
        if error.status.get("code") == 409:
            fail(f"a PATCH of {path} meets a conflict: {error}")
        raise


def listed(api, path, **query):
    """Everything, in pages of a random size of one revision."""
    items, token, pages = [], None, 0
    while True:
        more = "&".join(f"{k}={v}" for k, v in query.items())
        got = api.get(f"{path}?{more}" + (f"&continue={token}" if token else ""))
        items += got["items"]
        pages += 1
        token = got["metadata"].get("continue")
        if not token:
            return {Fold.key(one): one for one in items}, got["metadata"]["resourceVersion"], pages


def without_kind(state):
    """Objects of a list have no kind of their own."""
    return {key: {k: v for k, v in one.items() if k not in ("kind", "apiVersion")}
            for key, one in state.items()}


def same(got, want, about):
    for key in sorted(set(got) | set(want)):
        if got.get(key) != want.get(key):
            fail(f"{about}: {key}\n  one:   {got.get(key)}\n  other: {want.get(key)}")


def run_writers(api, path, make, change):
    first = seed()
    writers = [Writer(api, path, first, number, make, change) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        if writer.failure is not None:
            raise writer.failure
    for what in ("create", "change", "delete"):
        if sum(writer.done[what] for writer in writers) < OPERATIONS // 10:
            fail(f"too little to {what}: {[writer.done for writer in writers]}")


def check(rig, resource, namespace, make, change, last):
    api, everything = rig.api, f"/api/v1/{resource}"
    path = f"/api/v1/namespaces/{namespace}/{resource}"
    api.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    early = Fold(api, everything)
    streamed = Fold(api, everything, sendInitialEvents="true",
                    resourceVersionMatch="NotOlderThan")
    run_writers(api, path, make, change)
    # A client that lists in the middle and watches from there.
    state, version, pages = listed(api, everything, limit=7)
    equal(pages > 1, True, f"pages of {resource}")
    middle = Fold(api, everything, version, without_kind(state))
    # From a revision that was left behind a while ago.
    behind = Fold(api, everything, version, without_kind(state))
    run_writers(api, path, make, change)
    end = Fold.key(api.post(path, last))
    folds = {"from the beginning": early, "with initial events": streamed,
             "after a list": middle, "from an older revision": behind}
    for fold in folds.values():
        fold.until(end, gone=False)
    want, version = settle(rig, everything, lambda: compare(api, everything, folds))
    for fold in folds.values():
        equal(int(fold.version) <= int(version), True, "no event is newer than the list")
    return want


def compare(api, path, folds):
    """Everything as it is by LIST, by GET and by the watches. None: it is the same."""
    state, _, _ = listed(api, path, limit=500)
    want = without_kind(state)
    try:
        for name, fold in folds.items():
            if fold.failure is not None:
                return fold.failure
            with fold.at:
                same(without_kind(fold.state), want, f"the watch {name} and LIST")
        resource = path.rsplit("/", 1)[1]
        for (space, name), one in want.items():
            got = api.get(f"/api/v1/namespaces/{space}/{resource}/{name}")
            same(without_kind({(space, name): got}), {(space, name): one}, "GET and LIST")
    except (AssertionError, RestError) as error:
        return error
    return None


def settle(rig, path, compared):
    """Compares until the scheduler and the members have left everything alone meanwhile."""
    end = time.monotonic() + 20 * SLOW
    while True:
        before, _, _ = listed(rig.api, path, limit=500)
        difference = compared()
        after, version, _ = listed(rig.api, path, limit=500)
        # An event may be on its way after LIST has shown what it is about.
        if difference is None and before == after:
            return without_kind(after), version
        if time.monotonic() > end:
            raise difference or AssertionError("the objects never rest")


class ConsistencyFixture(Rig):
    def enter(self, _name):
        return self


@case(seconds=60)
def configmaps(rig):
    def make(name, rng):
        return configmap(name, {"n": str(rng.random())}, {"l": str(rng.randrange(3))})

    def change(api, path, rng):
        if rng.random() < 0.5:
            patched(api, path, {"data": {"n": str(rng.random())}})
            return
        one = api.get(path)
        one["data"] = {"n": str(rng.random()), "put": "yes"}
        api.put(path, one)

    check(rig, "configmaps", "maps", make, change, configmap("z-last"))


@case(seconds=90)
def pods_that_are_scheduled(rig):
    for i in range(NODES):
        rig.api.post("/api/v1/nodes", node(f"n{i}", cpu="2"))
    rig.run_member()

    def make(name, rng):
        return pod(name, {"l": str(rng.randrange(3))}, cpu=rng.choice(("100m", "1", "7")))

    def change(api, path, rng):
        # What may be changed of a pod is not served everywhere yet; a deletion with a grace
        # period is a change, too.
        api.delete(f"{path}?gracePeriodSeconds={rng.choice((0, 1, 30))}")

    want = check(rig, "pods", "pods", make, change, pod("z-last", cpu="10m"))
    bound = sum(1 for one in want.values() if one["spec"].get("nodeName"))
    equal(bound > 3, True, f"{bound} pods are bound")


@case(seconds=60)
def a_selector_folds_to_its_own_list(rig):
    api = rig.api
    api.post("/api/v1/namespaces", {"metadata": {"name": "chosen"}})
    path = "/api/v1/namespaces/chosen/configmaps"
    fold = Fold(api, path, labelSelector="l=1")

    def make(name, rng):
        return configmap(name, labels={"l": str(rng.randrange(3))})

    def change(api, path, rng):
        patched(api, path, {"metadata": {"labels": {"l": str(rng.randrange(3))}}})

    run_writers(api, path, make, change)
    end = Fold.key(api.post(path, configmap("z-last", labels={"l": "1"})))
    fold.until(end, gone=False)
    state, _, _ = listed(api, path, labelSelector="l=1")
    same(without_kind(fold.state), without_kind(state), "the watch and LIST")


@case()
def patches_of_one_object_are_all_applied(rig):
    """Over two servers: each change is made again from what the others have written."""
    path = "/api/v1/namespaces/default/configmaps"
    rig.api.post(path, configmap("shared"))
    servers, failures = (rig.api, rig.second_placetd()), []

    def write(number):
        try:
            for i in range(10):
                patched(servers[number % 2], f"{path}/shared", {"data": {f"w{number}-{i}": "1"}})
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,), daemon=True)
               for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    equal(len(rig.api.get(f"{path}/shared")["data"]), WRITERS * 10)


@case()
def what_was_just_made_can_be_changed_and_deleted(rig):
    api, path = rig.api, "/api/v1/namespaces/default/configmaps"
    for i in range(30):
        api.post(path, configmap(f"quick{i}"))
        api.patch(f"{path}/quick{i}", {"data": {"a": "b"}})
        one = api.post(path, configmap(f"other{i}"))
        one["data"] = {"c": "d"}
        one = api.put(f"{path}/other{i}", one)
        api.put(f"{path}/other{i}", one)
        api.delete(f"{path}/other{i}")
        api.delete(f"{path}/quick{i}")
        api.post(path, configmap(f"quick{i}"))
        api.delete(f"{path}/quick{i}")


@case(seconds=60)
def another_server_shows_the_same(rig):
    """A second placetd over the same store: what one has written, the other shows at once."""
    first = rig.api
    second = rig.second_placetd()
    first.post("/api/v1/namespaces", {"metadata": {"name": "shared"}})
    path = "/api/v1/namespaces/shared/configmaps"
    for i in range(20):
        writer, reader = (first, second) if i % 2 == 0 else (second, first)
        made = writer.post(path, configmap(f"c{i}", {"i": str(i)}))
        equal(reader.get(f"{path}/c{i}"), made)
        writer.post(path, configmap(f"d{i}"))
        reader.patch(f"{path}/d{i}", {"data": {"a": "b"}})
        writer.post(path, configmap(f"e{i}"))
        reader.delete(f"{path}/e{i}")
    ours, version, _ = listed(first, path, limit=3)
    theirs, _, _ = listed(second, path, limit=500, resourceVersion=version,
                          resourceVersionMatch="NotOlderThan")
    same(ours, theirs, "the lists of two servers")


main(ConsistencyFixture)
