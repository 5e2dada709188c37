"""Where the tests' time goes: seconds of each file, as of the last full run.

    python tools/test_times.py                  # the 30 slowest files
    python tools/test_times.py build/tests.xml  # take a run's times over, then the same

The times are kept in tests/durations.json, so a review shows what became slower. A file counts in
whole seconds, and those below two seconds together: noise makes no diff.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

KEPT = Path(__file__).resolve().parents[1] / "tests" / "durations.json"
SHOWN = 30
SHORT = 2.0


def file_seconds(report: Path) -> dict[str, int]:
    """Seconds of each test file of a junit report, the slowest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        seconds[_file(case.attrib["classname"])] += float(case.attrib["time"])
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
        KEPT.write_text(json.dumps(file_seconds(Path(sys.argv[1])), indent=0) + "\n")
    kept = json.loads(KEPT.read_text())
    print(f"the slowest test files, of {sum(kept.values())} seconds in all")
    for name, seconds in [*kept.items()][:SHOWN]:
        print(f"{seconds:6} {name}")


if __name__ == "__main__":
    main()
