"""Cases of a test program in Python, reported in TAP: what tests/harness/t.h is for C.

    @case()
    def what_must_hold(k):
        equal(1 + 1, 2)

    if __name__ == "__main__":
        main(Fixture)

    x_test.py [--list] [PATTERN...]    only the cases whose names match a shell pattern

A case gets fixture.enter(name) and has SECONDS (T_SLOW=3 gives three times that). A case
with comes_with="..." is known to fail until that part of the server exists: it is reported
as TODO, and when it passes the run fails, so that the mark is taken away.
"""
import fnmatch
import os
import pathlib
import signal
import sys
import traceback

ROOT = pathlib.Path(os.environ.get("T_ROOT") or pathlib.Path(__file__).resolve().parents[2])
SECONDS = 20
SLOW = float(os.environ.get("T_SLOW") or 1)
_cases = []


class Skip(Exception):
    """The case, or the program, cannot run here; the text says why."""


class Case:
    def __init__(self, run, seconds, comes_with, applies):
        self.run, self.name = run, run.__name__
        self.seconds, self.comes_with, self.applies = seconds, comes_with, applies


def case(seconds=SECONDS, comes_with=None, applies=lambda fixture: True):
    """applies: whether the case is one of this fixture's (a version of a client)."""
    def add(run):
        _cases.append(Case(run, seconds, comes_with, applies))
        return run
    return add


_running = ""


def seed():
    """The seed of a random case: T_SEED, or a fixed one."""
    number = int(os.environ.get("T_SEED") or 1)
    print(f"# {_running}: T_SEED={number} repeats this", file=sys.stderr, flush=True)
    return number


# -- checks ------------------------------------------------------------------------------


def fail(text):
    raise AssertionError(text)


def equal(got, want, about=""):
    if got != want:
        fail(f"{about}\n  got:  {got!r}\n  want: {want!r}")


def same_text(got, want, about=""):
    if got != want:
        fail(f"{about}\n--- got\n{got}\n--- want\n{want}\n---")


def has(text, *words):
    for word in words:
        if word not in text:
            fail(f"no {word!r} in:\n{text}")


def has_not(text, *words):
    for word in words:
        if word in text:
            fail(f"{word!r} in:\n{text}")


def golden(name, text):
    """Compares with tests/golden/api/<name>; T_UPDATE=1 rewrites the file instead."""
    path = ROOT / "tests" / "golden" / "api" / name
    if os.environ.get("T_UPDATE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    same_text(text, path.read_text() if path.exists() else "", f"{path} differs")


# -- the run -----------------------------------------------------------------------------


def _on_alarm(_signum, _frame):
    raise TimeoutError("the case has no more time")


def _run(one, fixture):
    global _running
    _running = one.name
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, one.seconds * SLOW)
    try:
        one.run(fixture.enter(one.name))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _report(number, one, fixture):
    """True: as it should be."""
    todo = f" # TODO comes with {one.comes_with}" if one.comes_with else ""
    try:
        _run(one, fixture)
    except Skip as why:
        print(f"ok {number} - {one.name} # SKIP {why}", flush=True)
        return True
    except BaseException as error:  # a case that is interrupted has failed, too
        print(f"not ok {number} - {one.name}{todo}", flush=True)
        if not todo or os.environ.get("T_VERBOSE"):
            text = "".join(traceback.format_exception(error)) + fixture.story()
            print("".join(f"# {line}\n" for line in text.splitlines()), flush=True)
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return bool(todo)
    print(f"ok {number} - {one.name}{todo}", flush=True)
    if todo:
        print(f"# {one.name} passes now: take its mark away", flush=True)
    return not todo


def main(make_fixture):
    """Never returns. make_fixture() may raise Skip; then nothing runs."""
    patterns = [arg for arg in sys.argv[1:] if not arg.startswith("--")]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        fixture = make_fixture()
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)
    with fixture:
        chosen = [one for one in _cases if one.applies(fixture) and
                  (not patterns or any(fnmatch.fnmatch(one.name, p) for p in patterns))]
        if "--list" in sys.argv:
            print("\n".join(one.name for one in chosen))
            sys.exit(0)
        print(f"1..{len(chosen) + 1}", flush=True)
        fixture.up()
        good = [_report(i + 1, one, fixture) for i, one in enumerate(chosen)]

        def the_server_ends_in_order(_):
            fixture.down()

        good.append(_report(len(chosen) + 1, Case(the_server_ends_in_order, 60, None, None),
                            fixture))
    sys.exit(0 if all(good) else 1)
