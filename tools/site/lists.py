"""Markdown as GitHub reads it (CommonMark), for Python-Markdown, which the site is built with.

Python-Markdown wants the children of a list item indented by four blanks, and a blank line before
a list or a table. The pages have what GitHub wants; here they get the rest.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

_MARKER = re.compile(r" *(?:[-*+]|\d+[.)]) +")
_PARSER = MarkdownIt("commonmark").enable("table")


def as_python_markdown(text: str) -> str:
    """The same page with four blanks for each level of a list.

    >>> print(as_python_markdown("So:\\n- one\\n  more\\n  - two\\n"))
    So:
    <BLANKLINE>
    - one
        more
        - two
    """
    lines = text.split("\n")
    inside: list[list[int]] = [[] for _ in lines]
    starts: dict[int, int] = {}
    set_off: set[int] = set()
    for token in _PARSER.parse(text):
        if token.map is None:
            continue
        first, past = token.map
        if token.type in ("bullet_list_open", "ordered_list_open", "table_open") and first:
            set_off.add(first)
        elif token.type == "list_item_open":
            parent = inside[first][-1] if inside[first] else 0
            marker = _MARKER.match(lines[first], parent)
            column = marker.end() if marker else parent + 2
            starts[first] = parent
            for columns in inside[first:past]:
                columns.append(column)
    written: list[str] = []
    for number, line in enumerate(lines):
        columns = inside[number]
        if number in set_off and written[-1].strip() and not (number in starts and columns[1:]):
            written.append("")
        if number in starts:
            written.append("    " * (len(columns) - 1) + line[starts[number] :].lstrip())
        elif columns and line.strip():
            blanks = min(columns[-1], len(line) - len(line.lstrip()))
            written.append("    " * len(columns) + line[blanks:])
        else:
            written.append(line)
    return "\n".join(written)
