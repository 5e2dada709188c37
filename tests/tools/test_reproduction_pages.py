"""Reports become one page for each question, and one table of claims."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

TOOL = Path(__file__).parents[2] / "tools/reproduction_pages.py"
REPORT = """# Report

| the paper says | here | figures |
|---|---|---|
| It leads ({name}) | **holds** | 1 against 0 |

## RQ{number}. Codes: {name}

![A plot](figures/plot.svg)
"""


def _report(folder: Path, name: str, number: int = 1) -> Path:
    (folder / name / "figures").mkdir(parents=True)
    (folder / name / "report.md").write_text(REPORT.format(name=name, number=number))
    (folder / name / "figures/plot.svg").write_text(f"<svg>{name}</svg>")
    return folder / name


def _run(out: Path, *reports: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, out, *reports], capture_output=True, text=True, check=False
    )


def test_sections_figures_and_claims_of_all_reports(tmp_path: Path) -> None:
    out = tmp_path / "docs"
    out.mkdir()
    marks = "Before\n<!-- claims -->\nthose before\n<!-- end of claims -->\nAfter\n"
    (out / "README.md").write_text(marks)
    reports = [_report(tmp_path, "cds"), _report(tmp_path, "yelp"), _report(tmp_path, "speed", 3)]
    done = _run(out, *reports)
    assert done.returncode == 0, done.stderr
    readme = (out / "README.md").read_text()
    assert readme.startswith("Before\n<!-- claims -->\n\n### [RQ1. ")
    assert readme.endswith("\n<!-- end of claims -->\nAfter\n")
    assert "those before" not in readme
    assert [line for line in readme.splitlines() if "It leads" in line] == [
        f"| It leads ({name}) | **holds** | 1 against 0 |" for name in ("cds", "yelp", "speed")
    ]
    page = (out / "rq1.md").read_text()
    assert page.index("## RQ1. Codes: cds") < page.index("## RQ1. Codes: yelp")
    assert "(figures/yelp/plot.svg)" in page
    assert (out / "figures/yelp/plot.svg").read_text() == "<svg>yelp</svg>"
    assert "RQ3. Codes: speed" in (out / "rq3.md").read_text()


def test_a_report_of_two_questions_is_refused(tmp_path: Path) -> None:
    report = _report(tmp_path, "both")
    path = report / "report.md"
    path.write_text(path.read_text() + "\n## RQ2. Vectors\n")
    done = _run(tmp_path, report)
    assert done.returncode != 0
    assert "rq1, rq2" in done.stderr
