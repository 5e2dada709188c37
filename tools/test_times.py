"""Where the tests' time goes: seconds of each file, as of the last full run.

    python tools/test_times.py                  # the 30 slowest files
    python tools/test_times.py build/test*.xml  # take over those of `make test-all` first

They are kept in tests/durations.json, so a review shows what became slower, and `tests/conftest.py`
starts with the slowest files. Files below two seconds count together: noise makes no diff.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

KEPT = Path(__file__).resolve().parents[1] / "tests" / "durations.json"
SHOWN = 30
SHORT = 2.0


def file_seconds(report: Path) -> dict[str, int]:
    """Seconds of each test file of a junit report, the slowest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        place = case.attrib["classname"] or case.attrib["name"]  # of a whole file: the name
        seconds[_file(place)] += float(case.attrib["time"])
    slowest = sorted(seconds.items(), key=lambda row: (-row[1], row[0]))
    long = {name: round(time) for name, time in slowest if time >= SHORT}
    return long | {"all others": round(sum(seconds.values()) - sum(long.values()))}


def _file(classname: str) -> str:
    """`tests.core.test_bits.TestBits` is in tests/core/test_bits.py."""
    parts = classname.split(".")
    last = max(at for at, part in enumerate(parts) if part.startswith("test_"))
    return "/".join(parts[: last + 1]) + ".py"


def main() -> None:
    if len(sys.argv) > 1:
        times = {Path(name).stem: file_seconds(Path(name)) for name in sys.argv[1:]}
        KEPT.write_text(json.dumps(times, indent=1) + "\n")
    kept = {name: Counter(times) for name, times in json.loads(KEPT.read_text()).items()}
    total = sum(kept.values(), Counter[str]())
    print(
        "seconds in " + ", ".join(f"{name}: {sum(times.values())}" for name, times in kept.items())
    )
    for name, seconds in total.most_common(SHOWN):
        print(f"{seconds:6} {name}")


if __name__ == "__main__":
    main()
