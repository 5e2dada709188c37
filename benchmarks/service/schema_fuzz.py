"""schemathesis over the OpenAPI document: no 5xx, and every answer fits it.

    python benchmarks/service/schema_fuzz.py --examples 1000 --json

`/v1/live` is left out (it never ends), and what starts child processes is tried less often.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Caller, Figures, promise, serving

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)
SETTINGS = """
[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx"]
"""
ENDLESS = ("/v1/live",)
CHILDREN = ("/v1/refit", "/v1/snapshots")


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    with serving(items=300, users=50) as served:
        with served.caller() as caller:
            operations = count_operations(caller)
        most = wanted.examples
        runs = [
            fuzz(served.url, most, wanted.limit, out=(*ENDLESS, *CHILDREN), only=wanted.only),
            fuzz(served.url, min(20, most), wanted.limit, only=CHILDREN),
        ]
        with served.caller() as caller:
            alive = caller.get("/livez")[0] == 200
        log = served.log_text
    failures = [line for code, text in runs if code for line in summary(text)]
    held = alive and all(code == 0 for code, _ in runs) and "Traceback" not in log
    cases = sum(int(n) for _, text in runs for n in re.findall(r"(\d+) generated", text))
    if wanted.verbose:
        for _, text in runs:
            sys.stderr.write(text)
    return held, {
        "operations": operations,
        "examples_an_operation": most,
        "cases": cases,
        "failures": failures[:20],
        "traceback_in_log": "Traceback" in log,
        "alive": alive,
    }


def count_operations(caller: Caller) -> int:
    _, document = caller.get("/openapi.json")
    methods = {"get", "put", "post", "delete", "patch"}
    return sum(len(methods & set(path)) for path in document["paths"].values())


def fuzz(
    url: str, examples: int, limit: float, *, out: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Exit code and output."""
    words = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json"]
    words += [
        "--max-examples",
        str(examples),
        "--checks",
        CHECKS,
        "--phases",
        "examples,coverage,fuzzing",
    ]
    words += [
        "--request-timeout",
        "20",
        "--seed",
        "0",
        "--suppress-health-check",
        "all",
        "--no-color",
    ]
    for path in out if not only else ():
        words += ["--exclude-path", path]
    for path in only:
        words += ["--include-path", path]
    with tempfile.TemporaryDirectory(prefix="xorec-fuzz-") as folder:  # it leaves a cache behind
        (Path(folder) / "schemathesis.toml").write_text(SETTINGS)
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def summary(text: str) -> list[str]:
    """The lines that say what failed."""
    return [line.strip() for line in text.splitlines() if re.match(r"\s*- |.*❌", line)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=1000, help="of each operation")
    parser.add_argument("--only", nargs="*", default=[], help="paths")
    parser.add_argument("--limit", type=float, default=7200, help="seconds")
    parser.add_argument("--verbose", action="store_true", help="what schemathesis prints")
    return promise("schema-fuzz", run, parser, {"examples": 3, "limit": 120})


if __name__ == "__main__":
    sys.exit(main())
