"""The metadata of a run and the settings of its methods, as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from xorec.lab.reproduce.report.table_cells import NOTHING, is_missing, plain

CLOCK = {"second", "seconds", "minutes", "hours", "started", "finished", "took"}
"""A key with one of these words holds what the clock measured."""
UNGROUPED = {"seed", "seeds", "year", "port"}
"""Numbers under these words are names: no commas."""
TYPED = {"command", "digest", "config"}
"""What a person may copy: shown as code, as is what starts with `xorec`."""
SENTENCE = 40
"""Letters: a list with longer texts is set one below the other."""


def metadata_html(metadata: Mapping[str, Any]) -> str:
    """A list of terms and what is known of them: values, lists, small tables, lists of terms."""
    pairs = "\n".join(
        f"<dt>{escape(_words(key))}</dt><dd>{_timed(key, _value(key, value))}</dd>"
        for key, value in metadata.items()
    )
    return f"<dl>\n{pairs}\n</dl>" if pairs else ""


def settings_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """What each method was fitted with, in a part of the page that opens by a click."""
    if not rows:
        return ""
    return f"""<details class="settings">
<summary>The settings of all methods, chosen on the validation part</summary>
{_grid(rows, "Settings by data set and method")}
</details>"""


def _value(key: str, value: Any) -> str:
    value = plain(value)
    if isinstance(value, Mapping):
        return metadata_html(value) or NOTHING
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if value and all(isinstance(one, Mapping) for one in value):
            return _grid(value, _words(key))
        texts = [_scalar(key, plain(one)) for one in value]
        if any(len(text) > SENTENCE for text in texts):
            return "<ul>" + "".join(f"<li>{text}</li>" for text in texts) + "</ul>"
        return ", ".join(texts) or NOTHING
    return _scalar(key, value)


def _scalar(key: str, value: Any) -> str:
    if is_missing(value):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and not UNGROUPED & _parts(key):
        return f"{value:,}"
    text = escape(str(value))
    typed = TYPED & _parts(key) or text.startswith("xorec ")
    return f"<code>{text}</code>" if typed else text


def _grid(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """Rows of equal keys as a table; a mapping in a cell as `name = value`, one after the other."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    kinds = {key: "" if _is_text(rows, key) else ' class="number"' for key in keys}
    heads = "".join(f'<th scope="col"{kinds[key]}>{escape(_words(key))}</th>' for key in keys)
    lines = []
    for row in rows:
        cells = [_timed(key, _in_cell(key, row.get(key))) for key in keys]
        first = f'<th scope="row"{kinds[keys[0]]}>{cells[0]}</th>'
        rest = (
            f"<td{kinds[key]}>{cell}</td>" for key, cell in zip(keys[1:], cells[1:], strict=True)
        )
        lines.append(f"<tr>{first}{''.join(rest)}</tr>")
    body = "\n".join(lines)
    return f"""<div class="scroll long" role="region" aria-label="{escape(name)}" tabindex="0">
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>"""


def _in_cell(key: str, value: Any) -> str:
    value = plain(value)
    if isinstance(value, Mapping):
        settings = (f"{name} = {plain(one)}" for name, one in value.items())
        return " ".join(f"<code>{escape(text)}</code>" for text in settings) or NOTHING
    if isinstance(value, float) and not is_missing(value):
        return f"{value:.4g}"
    return _value(key, value)


def _is_text(rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    values = [plain(row.get(key)) for row in rows]
    return any(not isinstance(value, int | float) for value in values if value is not None)


def _timed(key: str, text: str) -> str:
    return f'<span class="time">{text}</span>' if CLOCK & _parts(key) else text


def _parts(key: str) -> set[str]:
    return set(re.split(r"[\s_,-]+", str(key).lower()))


def _words(key: str) -> str:
    return str(key).replace("_", " ")
