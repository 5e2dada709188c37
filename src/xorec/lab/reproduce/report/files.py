"""The report of a run, in a folder: page, Markdown, tables as CSV, figures as PNG and SVG."""

from __future__ import annotations

from pathlib import Path

from xorec.core.errors import XorecError
from xorec.core.files import replacing
from xorec.lab.reproduce.report.markdown import MarkdownRenderer
from xorec.lab.reproduce.report.page import PageRenderer
from xorec.lab.reproduce.report.rendering import Report, render
from xorec.plots.figures import needs_plots

PAGE, TEXT = "report.html", "report.md"
FOLDERS = {"tables": (".csv",), "figures": (".png", ".svg")}
"""The folders beside the page, and what a report puts there."""


def write_report(out: Path, report: Report) -> list[Path]:
    """Write the report and return its files, the page first. Equal input, equal bytes.

    Files that an older report left in tables/ and figures/ and that this one lacks are removed.
    """
    needs_plots()
    older = (out / PAGE).is_file()
    page, text = PageRenderer(), MarkdownRenderer()
    render(report, page)
    render(report, text)
    contents = {PAGE: page.html.encode(), TEXT: text.text.encode(), **page.files}
    for name, content in contents.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)
    paths = [out / name for name in contents]
    if older:
        _remove_others(out, set(paths))
    return paths


def _remove_others(out: Path, kept: set[Path]) -> None:
    for folder, endings in FOLDERS.items():
        for path in sorted((out / folder).glob("*")):
            if path.suffix in endings and path not in kept and path.is_file():
                try:
                    path.unlink()
                except OSError as error:
                    reason = error.strerror or error
                    raise XorecError(
                        f"cannot remove {path}, which an older report left: {reason}. "
                        "Remove it, or choose another folder."
                    ) from None
