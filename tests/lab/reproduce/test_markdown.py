from __future__ import annotations

from xorec.lab.reproduce.report import Report, contents_of
from xorec.lab.reproduce.sections import Claim, Column, Section, Table
from xorec.plots.figures import Figure


def test_claims_tables_and_figures() -> None:
    columns = [
        Column("who", "method", "text"),
        Column("x", "X", spread="x_sd", best=True),
        Column("p", "p", "p", 3),
        Column("theirs", "paper", "paper", 2),
    ]
    rows = [
        {"who": "a|b", "x": 0.25, "x_sd": 0.01, "p": 0.0001, "theirs": 0.5},
        {"who": "<c>", "x": 0.125, "x_sd": None, "p": 0.25, "theirs": None},
    ]
    table = Table("t", "T", columns, rows, "a note")
    claim = Claim("it works", "holds in part", "1 | 2")
    section = Section("rq1", "RQ1. S", "Why?", ["Because."], [table], [Figure("f/1", "F", [])])
    report = Report("Title", [section, Section("rq2", "RQ2", "?", claims=[claim])])
    text = contents_of(report)["report.md"].decode()
    lines = text.splitlines()
    assert lines[0] == "# Title"
    assert "| it works | **holds in part** | 1 \\| 2 |" in lines
    assert "![F](figures/f-1.svg)" in lines  # the name of the file
    assert "|---|---:|---:|---:|" in lines
    assert "| a\\|b | **0.2500 ± 0.0100** | &lt; 0.001 | *0.50* |" in lines
    assert "| &lt;c> | 0.1250 | 0.250 |  |" in lines
    assert "a note" in lines
    assert text.endswith("a note\n\n## RQ2\n\n*?*\n")
