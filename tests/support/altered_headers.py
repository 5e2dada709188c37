"""Model files with an altered header or altered metadata: part of `altered_files`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from xorec.models import MODELS
from xorec.representations import REPRESENTATIONS

_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 7, 1000, 2**31, 2**63, 10**300, 0.5, float("inf"), float("nan"), "", "x"),
    *("a\x1b[31m\nb", "x" * 5000, [], [[]], {}, {"self": 1}, {"x": {"y": None}}),
)
_TEXTS = {
    "1e400": "1e400",
    "a number of 5,000 digits": "9" * 5000,
    "100 levels": "[" * 100 + "]" * 100,
    "900 levels": "[" * 900 + "]" * 900,
    "100,000 levels": "[" * 100_000 + "]" * 100_000,
    "half a character": '"\\ud800"',
    "no JSON": "@",
}
_KINDS = ("int64", "str", "bool", "int", "float", "bytes", "date", "datetime", "uuid", "none")
_DTYPES: tuple[Any, ...] = (
    *("I64", "U64", "I32", "U32", "F32", "F16", "U8", "I8", "F64", "BOOL", ""),
    *(5, None, []),
)
_SHAPES: tuple[Any, ...] = (
    *([], [0], [-1], [True], [1.0], [2**63], [2**64], [2**32, 2**32], [2**62, 4, 2], [0, 2**62]),
    *([0, 2**31], [1] * 70, "8", None, {"0": 1}),
)
_OFFSETS: tuple[Any, ...] = (
    *([0], [0, 0], [8, 0], [-8, 0], [0, 2**63], [2**63, 2**64], [0.0, 8.0], ["0", "8"]),
    *([False, True], None, 5),
)


def altered_metadata(about: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What can be wrong with metadata that JSON can say: (name, the altered metadata)."""
    for place in _places(about):
        yield f"metadata {'.'.join(place)}: gone", _with(about, place, None, gone=True)
        for value in _VALUES:
            shown = repr(value)[:20]
            yield f"metadata {'.'.join(place)}: {shown}", _with(about, place, value)
    for name in MODELS:
        yield f"metadata model: {name}", {**about, "model": name}
    for name in REPRESENTATIONS:
        yield f"metadata representation: {name}", {**about, "representation": name}
    for users in _KINDS:
        for items in _KINDS:
            kinds = {"user_ids": users, "item_ids": items}
            yield f"metadata id_kinds: {users}, {items}", {**about, "id_kinds": kinds}


def altered_headers(content: bytes) -> Iterator[tuple[str, bytes]]:
    """What can be wrong with the header of a file: (name, all its bytes). The digest stays."""
    length = int.from_bytes(content[:8], "little")
    text, data = content[8 : 8 + length].decode(), content[8 + length :]
    header = json.loads(text)
    names = [name for name in header if name != "__metadata__"]
    for name in names:
        for what, entry in _entries(header[name], [header[other] for other in names]):
            yield f"header {name}: {what}", _file({**header, name: entry}, data)
    about = header["__metadata__"]["xorec"]
    for key, value in json.loads(about).items():
        for what, raw in _TEXTS.items():
            wrong = about.replace(f'"{key}": {json.dumps(value, ensure_ascii=False)}', "@@", 1)
            changed = wrong.replace("@@", f'"{key}": {raw}')
            yield f"metadata {key}: {what}", _file(_about(header, changed), data)
    for what, raw in {**_TEXTS, "twice": about[:-1] + ', "model": "bpr"}'}.items():
        yield f"metadata: {what}", _file(_about(header, raw), data)
        yield f"header: {what}", _file(raw, data)
    for value in _VALUES:
        yield f"header metadata: {value!r:.20}", _file({**header, "__metadata__": value}, data)
        yield f"header xorec: {value!r:.20}", _file(_about(header, value), data)
    yield "header: an entry twice", _file(text[:-1] + "," + text[1:], data)
    yield "header: a name of half a character", _file(text[:-1] + ',"\\ud800":1}', data)
    yield "header: not UTF-8", _file(text.encode().replace(b"xorec", b"\xff\xfe\xff\xfe\xff"), data)
    yield "header: UTF-16", _file(text.encode("utf-16"), data)
    yield "header: a zero behind", _file(text + "\0", data)
    for wrong_length in (0, 1, 2, length - 1, length + 1, len(content), 2**31, 2**63, 2**64 - 1):
        yield f"header: length {wrong_length}", wrong_length.to_bytes(8, "little") + content[8:]
    for size in (0, 1, 7, 8, 9, 8 + length, len(content) - 1):
        yield f"cut to {size} bytes", content[:size]
    yield "a byte behind", content + b"\0"


def _entries(entry: dict[str, Any], others: list[Any]) -> Iterator[tuple[str, Any]]:
    for key in entry:
        yield f"no {key}", {name: entry[name] for name in entry if name != key}
    for value in _VALUES[:6]:
        yield f"{value!r}", value
    for dtype in _DTYPES:
        yield f"dtype {dtype}", {**entry, "dtype": dtype}
    for shape in _SHAPES:
        yield f"shape {shape}", {**entry, "shape": shape}
    for offsets in _OFFSETS:
        yield f"at {offsets}", {**entry, "data_offsets": offsets}
    begin, end = entry["data_offsets"]
    yield "moved", {**entry, "data_offsets": [begin + 1, end + 1]}
    for other in others[:3]:
        yield f"at {other['data_offsets']}", {**entry, "data_offsets": other["data_offsets"]}


def _places(about: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Every key, and the keys inside objects."""
    for key, value in about.items():
        yield (key,)
        for inner in value if isinstance(value, dict) else ():
            yield key, inner


def _with(
    about: dict[str, Any], place: tuple[str, ...], value: Any, *, gone: bool = False
) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(about))
    *outer, last = place
    target = changed[outer[0]] if outer else changed
    target[last] = value
    if gone:
        del target[last]
    return changed


def _about(header: dict[str, Any], about: Any) -> dict[str, Any]:
    return {**header, "__metadata__": {"xorec": about}}


def _file(header: dict[str, Any] | str | bytes, data: bytes) -> bytes:
    text = json.dumps(header) if isinstance(header, dict) else header
    content = text.encode() if isinstance(text, str) else text
    return len(content).to_bytes(8, "little") + content + data
