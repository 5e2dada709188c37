"""The report: one page that stands alone, exact tables beside it, the clock kept apart."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.report_pages import without_times
from xorec.cli.output import print_line, print_table
from xorec.core.errors import XorecError
from xorec.lab.reproduce.report import Report, contents_of, csv_text, write_report
from xorec.lab.reproduce.sections import Claim, Column, Section, Table
from xorec.lab.reproduce.terminal import print_sections
from xorec.plots.figures import Figure, Line, Panel

NASTY = '<b>&"'
VOID = {"meta", "link", "img", "br", "hr", "source"}


def table(seconds: float = 12.5) -> Table:
    columns = [
        Column("method", "method", "text"),
        Column("items", "items", "count"),
        Column("hr", "HR@10", spread="hr_sd", best=True),
        Column("paper", "paper, HR@10", "paper"),
        Column("seconds", "fit, s", "time", 1, best=True),
    ]
    rows = [
        {"method": "dcf", "items": 64443, "hr": 1 / 3, "hr_sd": 0.0003, "paper": 0.0504},
        {"method": NASTY, "items": 12, "hr": 0.25, "hr_sd": None, "seconds": seconds},
        {"method": "dsiml", "items": 7, "hr": 0.3333, "hr_sd": 0.1, "seconds": 10.0, "p": 1e-17},
    ]
    return Table("rq1-hr", f"HR on {NASTY}", columns, rows, "A <note>.")


def section(seconds: float = 12.5) -> Section:
    line = Line("dsiml", [10, 20], [0.1, 0.2], highlight=True)
    fast = Line("dsiml", ["a", "b"], [seconds, 2 * seconds], highlight=True)
    bars = Panel("", "", "s", [fast, Line("other", ["a", "b"], [3.0, 4.0])], "bars")
    return Section(
        "rq1",
        f"RQ1 on {NASTY}",
        "Does it rank?",
        ["One & only."],
        [table(seconds)],
        [
            Figure("curve", f"NDCG on {NASTY}", [Panel("", "k", "NDCG@k", [line])], "Bands."),
            Figure("speed", "Time", [bars], timed=True),
        ],
        [
            Claim("It ranks best.", "holds in part", "0.33 < 0.34 & more"),
            Claim("It is fast.", "holds", f"{seconds} s", timed=True),
        ],
    )


METADATA: dict[str, Any] = {
    "command": "xorec reproduce rq1 --data " + NASTY,
    "data": [{"data": NASTY, "users": 75258}, {"data": "b", "users": np.int64(3)}],
    "split": {"kind": "random", "seed": 20240101},
    "seeds": [0, 1, 2],
    "seconds": 99.5,
}
SETTINGS = [{"data": NASTY, "method": "dsiml", "trials": 3, "settings": {"gamma": 0.1}}]


def write(out: Path, seconds: float = 12.5) -> str:
    metadata = {**METADATA, "seconds": seconds}
    write_report(out, Report(f"Report {NASTY}", [section(seconds)], metadata, SETTINGS))
    return (out / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    write(out)
    return out


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


class Page(HTMLParser):
    """Reads a page; complains about tags that do not balance and about ids given twice."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: set[str] = set()
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        assert len(known) == len(attrs)
        self.tags.append((tag, known))
        if "id" in known:
            assert known["id"] not in self.ids
            self.ids.add(str(known["id"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [known for name, known in self.tags if name == tag]


def test_the_page_is_sound_and_asks_for_nothing(html: str) -> None:
    page = Page(html)
    anchors = [str(link["href"]) for link in page.all("a") if str(link["href"]).startswith("#")]
    assert {anchor[1:] for anchor in anchors} == page.ids == {"claims", "rq1", "run"}
    assert len(page.all("h1")) == 1
    assert all(known["scope"] in ("col", "row") for known in page.all("th"))
    assert all(image["alt"] and NASTY in image["alt"] for image in page.all("img")[:1])

    assert not any(text in html for text in ("http://", "https://", "<script", "@import", "url("))
    sources = [known.get("src") for tag in ("img", "iframe", "source") for known in page.all(tag)]
    assert len(sources) == 2
    assert all(str(source).startswith("data:image/svg+xml;base64,") for source in sources)
    assert [link["href"] for link in page.all("link")] == ["data:,"]


def test_figures_of_the_paper_are_grey_and_the_best_is_bold(html: str) -> None:
    assert NASTY not in html
    assert "<note>" not in html
    assert html.count("&lt;b&gt;&amp;") >= 8
    for cell in (
        '<td class="number paper">0.0504</td>',
        '<th scope="col" class="number paper">paper, HR@10</th>',
        '<strong>0.3333</strong><small class="spread"> ±&nbsp;0.0003</small></td>',
        '<td class="number">64,443</td>',
    ):
        assert html.count(cell) == 1
    assert html.count("<strong>0.3333</strong>") == 1
    assert "20240101" in html


def test_only_the_clock_makes_two_pages_differ(html: str, tmp_path: Path) -> None:
    other = write(tmp_path, 7.25)
    assert html != other
    assert without_times(html) == without_times(other)
    assert "12.5" not in without_times(html)
    for text in ("Does it rank?", "0.33 &lt; 0.34 &amp; more", "64,443", "data:image/svg+xml"):
        assert text in without_times(html)


def digest(out: Path) -> str:
    files = sorted(path for path in out.rglob("*") if path.is_file())
    together = hashlib.sha256()
    for path in files:
        together.update(str(path.relative_to(out)).encode() + path.read_bytes())
    return together.hexdigest()


@pytest.mark.process
def test_the_same_report_has_the_same_bytes_in_another_process(
    folder: Path, tmp_path: Path
) -> None:
    code = (
        "import importlib.util, pathlib;"
        f"spec = importlib.util.spec_from_file_location('report_tests', {__file__!r});"
        "tests = importlib.util.module_from_spec(spec); spec.loader.exec_module(tests);"
        f"tests.write(pathlib.Path({str(tmp_path)!r}))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "11"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert digest(folder) == digest(tmp_path)


def test_a_csv_file_has_every_key_and_every_digit(folder: Path) -> None:
    with (folder / "tables/rq1-hr.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    original = table().rows
    assert set(rows[0]) == {key for row in original for key in row}
    assert [row["method"] for row in rows] == ["dcf", NASTY, "dsiml"]
    for read, row in zip(rows, original, strict=True):
        for key, text in read.items():
            value = row.get(key)
            assert text == "" if value is None else type(value)(text) == value
    nested: Mapping[str, Any] = {"a": np.float64(0.1), "b": np.int32(7), "c": {"x": [1, 2.5]}}
    assert csv_text(Table("t", "", [], [nested])) == 'a,b,c\n0.1,7,"{""x"": [1, 2.5]}"\n'


def test_files_beside_the_page_and_no_stale_ones(tmp_path: Path) -> None:
    foreign = tmp_path / "tables" / "mine.csv"
    foreign.parent.mkdir()
    foreign.write_text("kept: no report was here")
    paths = write_report(tmp_path, Report("Old", [section()]))
    assert foreign.is_file()
    kept = [tmp_path / name for name in ("run.json", "tables/notes.txt", "figures/a.pdf")]
    for path in kept:
        path.write_text("kept")
    new = Section("rq2", "RQ2", "", tables=[Table("other", "", table().columns, table().rows)])
    written = write_report(tmp_path, Report("New", [new]))
    assert paths[0] == written[0] == tmp_path / "report.html"
    assert written[1:] == [tmp_path / "report.md", tmp_path / "tables/other.csv"]
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {*written, *kept}


def test_equal_and_odd_names_get_files_of_their_own(tmp_path: Path) -> None:
    odd = [replace(table(), name=name) for name in ("a/b", "../a b", "A-b", "")]
    paths = write_report(tmp_path, Report("Odd", [Section("rq1", "", "", tables=odd)] * 2))
    assert len({str(path).lower() for path in paths}) == 2 + 2 * len(odd)
    assert all(path.parent in (tmp_path, tmp_path / "tables") for path in paths)
    assert {"rq1", "rq1-2"} < Page(paths[0].read_text()).ids
    with pytest.raises(XorecError, match=r"cannot write .*you may write to"):
        write_report(paths[0] / "report", Report("", [section()]))


def test_the_terminal_has_every_value_within_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cuts = [Column(f"n{k}", f"NDCG@{k}", spread="sd", best=True) for k in range(10, 101, 10)]
    rows: list[dict[str, Any]] = [
        {"method": name, "sd": 0.0003, **{f"n{10 * k}": 0.1 * row + k - 1 for k in range(1, 11)}}
        for row, name in enumerate(("light-rec", NASTY, "dsiml"))
    ]
    wide = Table("wide", "Ten cut-offs", [Column("method", "method", "text"), *cuts], rows)
    print_sections([replace(section(), tables=[wide, table()])], print_table, print_line)
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    for row in rows:
        for place, one in enumerate(cuts):
            assert f"{row[one.key]:.4f} ± 0.0003{'*' if row is rows[-1] else ''}" in printed, place
    assert sum(line.startswith("method") for line in lines) == printed.count("Ten cut-offs") + 1
    assert sum(line.startswith("light-rec ") for line in lines) == printed.count("Ten cut-offs")
    assert "- [holds in part] It ranks best." in lines
    assert "    0.33 < 0.34 & more" in lines


EVIL = "=cmd|' /C calc'!A0\x1b[31m\u202e$x$"


def test_names_from_the_data_do_no_harm(tmp_path: Path) -> None:
    rows = [{"name": EVIL, "gain": -0.5, "@note": "-1", "text": "+a"}, {"name": "b", "gain": 1.0}]
    table = Table("t", EVIL, [Column("name", EVIL, "text"), Column("gain", "gain")], rows)
    lines = [Line(EVIL, [1, 2], [1.0, 2.0]), Line("$", [1, 2], [2.0, 1.0])]
    figure = Figure("f", EVIL, [Panel(EVIL, EVIL, "y", lines)])
    section = Section("rq1", EVIL, EVIL, [EVIL], [table], [figure], [])
    files = write_report(tmp_path, Report(EVIL, [section], {"data": EVIL}))
    for path in files:
        if path.suffix != ".png":
            assert not set(path.read_text()) & set("\x1b\u202e"), path
    assert "\\x1b[31m\\u202e$x$" in (tmp_path / "figures" / "f.svg").read_text()
    text = (tmp_path / "tables" / "t.csv").read_text().splitlines()
    assert text[0] == "name,gain,'@note,text"
    assert text[1].startswith("'=cmd|' /C calc'!A0")
    assert text[1].endswith(",-0.5,-1,'+a")


def test_markdown_has_claims_tables_and_figures() -> None:
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
