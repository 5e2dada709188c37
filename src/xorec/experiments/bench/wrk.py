"""wrk, where it is installed: a second opinion on the maximum, by somebody else's sender."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


@dataclass(frozen=True)
class WrkResult:
    """Milliseconds; errors: answers that are no 2xx or 3xx, and sockets that broke."""

    requests_per_second: float
    requests: int
    p50_ms: float
    p99_ms: float
    errors: int


def is_installed() -> bool:
    return shutil.which("wrk") is not None


def run_wrk(
    url: str, script: str, connections: int, seconds: int, cores: tuple[int, ...] = ()
) -> WrkResult:
    """One thread, so many connections."""
    pin = []
    if cores and shutil.which("taskset"):
        pin = ["taskset", "-c", ",".join(map(str, cores))]
    with tempfile.TemporaryDirectory() as folder:
        lua = Path(folder) / "requests.lua"
        lua.write_text(script)
        size = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "--latency"]
        words = [*pin, "wrk", *size, "-s", str(lua), url]
        out = subprocess.run(
            words, capture_output=True, text=True, timeout=seconds + 60, check=True
        )
    return read_wrk(out.stdout)


def read_wrk(text: str) -> WrkResult:
    """What wrk prints.

    >>> read_wrk('''
    ...   Latency Distribution
    ...      50%    1.21ms
    ...      99%  850.00us
    ...   5000 requests in 1.00s, 2MB read
    ...   Non-2xx or 3xx responses: 7
    ... Requests/sec:   4990.50
    ... ''')
    WrkResult(requests_per_second=4990.5, requests=5000, p50_ms=1.21, p99_ms=0.85, errors=7)
    """

    def latency(share: int) -> float:
        found = re.search(rf"\b{share}%\s+([\d.]+)(us|ms|s|m)\b", text)
        return float(found[1]) * _UNITS[found[2]] if found else float("nan")

    def number(pattern: str) -> float:
        found = re.search(pattern, text)
        return float(found[1]) if found else 0.0

    sockets = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text
    )
    broken = sum(map(int, sockets.groups())) if sockets else 0
    return WrkResult(
        number(r"Requests/sec:\s+([\d.]+)"),
        int(number(r"(\d+) requests in")),
        latency(50),
        latency(99),
        int(number(r"Non-2xx or 3xx responses: (\d+)")) + broken,
    )
