"""Do the tests see a fault? Applies small faults one by one to a copy and runs the mirrored tests.

    python tools/mutate.py                              # every fault of tools/faults/, an hour
    python tools/mutate.py --room search                # those of tools/faults/search.toml
    python tools/mutate.py --fault deny-not-sorted      # one

A fault is killed where a test fails, the process dies or the time is over: by those tests of its
list that `make test` runs ("test") or by the others ("all"). It survives where all tests pass: then
a test is missing. It is stale where `old` does not stand exactly once in the file, `new` is not
Python or no test is found. Exit code 1: a fault is stale, more than 5 % survive, or `make test`
alone kills less than 90 %.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis")
MAY_SURVIVE = 0.05
BY_MAKE_TEST = 0.9
TIERS = "process or browser or spark or database or docs or exhaustive"
"""Of tests that `make test` leaves out."""


@dataclass(frozen=True)
class Fault:
    """A small change of one file, the tests that must notice, and what a user would suffer."""

    room: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str

    def stale(self, root: Path) -> str:
        """Why the fault cannot be applied, or nothing."""
        path = root / self.file
        text = path.read_text() if path.is_file() else ""
        missing = [test for test in self.tests if not (root / test.split("::")[0]).exists()]
        if text.count(self.old) != 1:
            return f"`old` stands {text.count(self.old)} times in {self.file}"
        try:
            after = text.replace(self.old, self.new)
            if path.suffix == ".py" and _meaning(after) == _meaning(text):
                return "`new` means the same as `old`"
        except SyntaxError as error:
            return f"with `new` it is not Python: {error}"
        return f"no such test: {missing[0]}" if missing else ""


def _meaning(text: str) -> str:
    return ast.dump(ast.parse(text))


@dataclass(frozen=True)
class Outcome:
    """What became of a fault, and by what: killed by `test` or by `all`, SURVIVED or STALE."""

    room: str
    name: str
    fate: str
    by: str
    seconds: float


def read_faults(folder: Path) -> list[Fault]:
    """All faults of a folder; the name of the file is their room."""
    return [
        Fault(path.stem, **entry | {"tests": tuple(entry["tests"])})
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text()).get("fault", [])
    ]


def apply(fault: Fault, root: Path) -> None:
    """Change the file; kernels that were compiled are found by content, so none is stale."""
    path = root / fault.file
    path.write_text(path.read_text().replace(fault.old, fault.new))
    for kept in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        kept.unlink()  # Python goes by date and size


def run_tests(
    root: Path, tests: tuple[str, ...], seconds: float | None, tiers: str = ""
) -> tuple[int | None, str]:
    """pytest's exit code (None where the time was over) and what it said, in a child process."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            _become_pytest(root, [*tests, "-m", tiers], output.fileno())
        code = _wait(child, seconds)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # whatever it has started
        if code is None:
            os.waitpid(child, 0)
        output.seek(0)
        return code, output.read().decode(errors="replace")


def _become_pytest(root: Path, arguments: list[str], output: int) -> NoReturn:
    """Run pytest in this process, on the package of the copy, and end."""
    os.setsid()
    os.chdir(root)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.environ |= {"PYTHONPATH": str(root / "src"), "TMPDIR": str(root.parent)}
    sys.path[:0], tempfile.tempdir = [str(root), str(root / "src")], None
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "-rfE", "--tb=line"]
    imported = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # by `import_libraries`
    code = 3
    try:
        code = pytest.main([*options, *imported, *arguments])
        sys.stdout.flush()
    finally:
        os._exit(code)  # what it has left goes with the copy


def _wait(child: int, seconds: float | None) -> int | None:
    """The exit code of a child, minus the signal that ended it; None when the time is over."""
    end = time.monotonic() + (seconds or float("inf"))
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    return None


def import_libraries() -> None:
    """What nearly all tests import of others: children begin with it instead of importing it."""
    for name in ("hypothesis", "numba", "polars", "scipy.sparse", "pydantic", "httpx", "starlette"):
        with suppress(ImportError):
            import_module(name)


def judge(fault: Fault, clean: Path, seconds: float) -> Outcome:
    """Apply one fault to a copy of the clean tree, whose kernels are compiled, and test it."""
    begun, ran = time.monotonic(), False

    def outcome(fate: str, by: str) -> Outcome:
        return Outcome(fault.room, fault.name, fate, by, round(time.monotonic() - begun, 1))

    if reason := fault.stale(clean):
        return outcome("STALE", reason)
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copy = Path(shutil.copytree(clean, Path(folder) / "copy", symlinks=True))
        apply(fault, copy)
        for fate, tiers in (("test", f"not ({TIERS})"), ("all", TIERS)):
            code, said = run_tests(copy, fault.tests, seconds, tiers)
            if code is None:
                return outcome(fate, f"by the limit of {seconds:g} seconds: it hangs")
            if code not in (0, 5):  # 5: no test is of these tiers
                failed = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
                return outcome(fate, failed[1] if failed else f"by exit code {code}")
            ran = ran or code == 0
    return outcome("SURVIVED", fault.why) if ran else outcome("STALE", "no tests to run")


def table(outcomes: list[Outcome]) -> str:
    """How many were killed by `make test` and by the other tests, survived or are stale."""
    rows: list[tuple[str, ...]] = [("room", "faults", "test", "all", "SURVIVED", "STALE")]
    for room in [*dict.fromkeys(one.room for one in outcomes), "all"]:
        fates = Counter(one.fate for one in outcomes if room in (one.room, "all"))
        rows.append((room, str(fates.total()), *(str(fates[fate]) for fate in rows[0][2:])))
    return "\n".join(f"{row[0]:16}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--room", action="append", help="only faults of this room")
    parser.add_argument("--fault", nargs="+", help="only faults of these names")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at once")
    parser.add_argument("--seconds", type=float, default=300, help="limit of a fault")
    parser.add_argument(
        "--passed", action="store_true", help="the tests pass: do not run them first"
    )
    parser.add_argument("--json", type=Path, help="write the outcomes to this file")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the copies go
    import_libraries()
    faults = read_faults(asked.root / "tools" / "faults")
    faults = [one for one in faults if not asked.room or one.room in asked.room]
    faults = [one for one in faults if not asked.fault or one.name in asked.fault]
    if not faults:
        parser.error("no such fault: see tools/faults/")
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        clean = Path(shutil.copytree(asked.root, Path(folder) / "clean", ignore=LEFT_OUT))
        union = {test: None for one in faults if not one.stale(clean) for test in one.tests}
        passed = asked.passed or not union
        code, said = (0, "") if passed else run_tests(clean, tuple(union), None)
        if code != 0:
            print(said, "the tests must pass without a fault", sep="\n")
            return 1
        outcomes = []
        judging = partial(judge, clean=clean, seconds=asked.seconds)
        with get_context("fork").Pool(asked.jobs) as pool:
            for one in pool.imap(judging, faults):
                outcomes.append(one)
                print(f"{one.fate:9}{one.seconds:7.1f} s  {one.room}/{one.name}: {one.by}")
                sys.stdout.flush()
    print(table(outcomes))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    fates = Counter(one.fate for one in outcomes)
    few = fates["test"] < BY_MAKE_TEST * len(outcomes)
    return int(few or fates["STALE"] > 0 or fates["SURVIVED"] > MAY_SURVIVE * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
