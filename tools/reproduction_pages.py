"""Pages of documentation from reports of `xorec reproduce`: one for each question, and the claims.

    python tools/reproduction_pages.py docs/reproduction report-cds report-yelp ...

Each report answers one question. OUT/rq1.md, rq2.md, ... have the sections of all reports, in the
order given; figures go to OUT/figures/REPORT/. The claims of all, by question, replace what lies
between the two marks of OUT/README.md.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections import defaultdict
from pathlib import Path

HEADS = ("| the paper says | here | figures |", "|---|---|---|")
BEGIN, END = "<!-- claims -->", "<!-- end of claims -->"
QUESTIONS = {
    "rq1": "RQ1. Is DSIML more accurate than other hashing methods?",
    "rq2": "RQ2. Are SIML and SIML-GCN more accurate than other continuous methods?",
    "rq3": "RQ3. How fast are lists for everybody?",
    "rq4": "RQ4. Does SIML help where categories are imbalanced?",
    "rq5": "RQ5. How much do lambda and gamma matter?",
}


def question_of(text: str) -> str:
    """The one question that a report.md answers."""
    found = {f"rq{number}" for number in re.findall(r"^## RQ(\d)\.", text, flags=re.MULTILINE)}
    if len(found) != 1:
        raise SystemExit(f"one question for each report, please: {', '.join(sorted(found))}")
    return found.pop()


def claims_of(text: str) -> list[str]:
    """The rows of its table of claims."""
    head = text.partition("\n## ")[0]
    return [line for line in head.splitlines() if line.startswith("| ") and line not in HEADS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("reports", type=Path, nargs="+")
    asked = parser.parse_args()
    pages: dict[str, list[str]] = defaultdict(list)
    claims: dict[str, list[str]] = defaultdict(list)
    for report in asked.reports:
        text = (report / "report.md").read_text()
        figures = asked.out / "figures" / report.name
        shutil.rmtree(figures, ignore_errors=True)
        figures.mkdir(parents=True)
        question, sections = question_of(text), "## " + text.partition("\n## ")[2].strip()
        for stem in re.findall(r"\(figures/(.*?\.svg)\)", sections):
            shutil.copy(report / "figures" / stem, figures)
        pages[question].append(sections.replace("(figures/", f"(figures/{report.name}/"))
        claims[question] += claims_of(text)
    for question, sections in sorted(pages.items()):
        title = f"# {QUESTIONS[question]}\n\nThe claims of all questions: [README](README.md).\n\n"
        (asked.out / f"{question}.md").write_text(title + "\n\n".join(sections) + "\n")
    readme = asked.out / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    parts = [BEGIN]
    for question, rows in sorted(claims.items()):
        link = f"### [{QUESTIONS[question]}]({question}.md)"
        parts += ["", link, "", *HEADS, *dict.fromkeys(rows)]
    readme.write_text(before + "\n".join([*parts, "", END]) + rest.split(END)[1])


if __name__ == "__main__":
    main()
