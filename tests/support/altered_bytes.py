"""Bytes of a file, altered in the ways that files break and that people break them on purpose."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence

import numpy as np

_LONG = (b"a" * 200_000, b"7" * 5000, b"[" * 5000, b'{"a":' * 3000, b'"' * 3001, b"\\" * 999)
_TOKENS = (
    *(bytes([code]) for code in (0, 1, 7, 8, 9, 10, 11, 12, 13, 26, 27, 28, 31, 127)),
    *(
        text.encode()
        for text in ("\x85", "\x9b31m", "\u2028", "\u202e", "\ufeff", "\u200b", "\U0001f600")
    ),
    *(b"\x80", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xff\xfe", b"\xfe\xff"),
    *(b"\xef\xbb\xbf", b"PAR1", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"BZh9", b"PK\x03\x04"),
    *(b"nan", b"NaN", b"inf", b"-inf", b"1e400", b"-1e400", b"-0", b"-0.0", b"007", b"0x10"),
    *(b"1_000", b"9007199254740993", b"9223372036854775807", b"9223372036854775808"),
    *(b"-9223372036854775808", b"18446744073709551616"),
    *(b"340282366920938463463374607431768211456", b"1.5", b"NA", b"null", b"true", b"", b" "),
    *(b'""', b'"', b"'", b",", b"::", b"\t", b";", b"|", b"\r\n", b"\n\n", b"\r", b'"\\ud800"'),
    *(b'"\\u0000"', b'"\\ud83d\\ude00"', b"\\", b"\\n", b"{", b"}", b"[", b"]", b"{}"),
    *(b"=cmd|' /C calc'!A0", b"\x1b]0;x\x07", b"user,item", b"2020-01-01", b"9999999-01-01", b"#"),
    *_LONG,
)
"""What is put into files."""


def altered_bytes(
    content: bytes, rng: np.random.Generator, others: Sequence[bytes]
) -> tuple[str, bytes]:
    """(what was done, the altered file)."""
    done = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 6]))):
        name, change = _CHANGES[int(rng.integers(len(_CHANGES)))]
        content = change(content, rng, others)[:4_000_000]
        done.append(name)
    return " + ".join(done), content


def _at(content: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(content) + 1))


def _flip(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    turned = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 8]))):
        if turned:
            turned[int(rng.integers(len(turned)))] ^= 1 << int(rng.integers(8))
    return bytes(turned)


def _set(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    wild = bytearray(content)
    at = _at(content, rng)
    wild[at : at + int(rng.choice([1, 4, 8]))] = bytes(rng.choice([0, 1, 127, 128, 255], 1)) * int(
        rng.choice([1, 4, 8])
    )
    return bytes(wild)


def _cut(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    at = _at(content, rng)
    return content[:at] if rng.random() < 0.7 else content[at:]


def _remove(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    at = _at(content, rng)
    return content[:at] + content[at + int(rng.choice([1, 2, 10, 200])) :]


def _repeat(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    at = _at(content, rng)
    span = content[at : at + int(rng.choice([1, 5, 50, 1000]))]
    return content[:at] + span * int(rng.choice([2, 3, 100])) + content[at:]


def _insert(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    at, token = _at(content, rng), _TOKENS[int(rng.integers(len(_TOKENS)))]
    return content[:at] + token + content[at:]


def _field(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    fields = list(re.finditer(rb"[\w.]+", content))
    token = _TOKENS[int(rng.integers(len(_TOKENS)))]
    if not fields:
        return token
    one = fields[int(rng.integers(len(fields)))]
    return content[: one.start()] + token + content[one.end() :]


def _lines(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    which = int(rng.integers(len(lines)))
    kind = int(rng.integers(6))
    if kind == 0:
        lines = lines[:which] + lines[which + 1 :]
    elif kind == 1:
        lines = lines[: which + 1] + [lines[which]] * int(rng.choice([1, 3, 5000])) + lines[which:]
    elif kind == 2:
        lines = [lines[at] for at in rng.permutation(len(lines))]
    elif kind == 3:
        lines = lines[:1]
    elif kind == 4:
        lines[which] = b" " * int(rng.integers(5))
    else:
        lines.insert(which, _TOKENS[int(rng.integers(len(_TOKENS)))])
    return b"\n".join(lines)


def _replace(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    """One separator, quotation mark or line end for another, everywhere."""
    signs = (
        *(b",", b"\t", b"::", b";", b"|", b" ", b'"', b"\n", b"\r\n", b"\r", b"1", b".", b":"),
        b"\0",
    )
    old, new = (signs[int(rng.integers(len(signs)))] for _ in range(2))
    return content.replace(old, new)


def _other(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    other = others[int(rng.integers(len(others)))]
    kind = int(rng.integers(4))
    if kind == 0:
        return other
    if kind == 1:
        return content + other
    at = _at(content, rng)
    return content[:at] + other[_at(other, rng) :]


def _packed(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    packed = gzip.compress(content, mtime=0)
    kind = int(rng.integers(6))
    if kind == 0:
        return packed[: _at(packed, rng)]
    if kind == 1:
        return gzip.compress(packed, mtime=0)
    if kind == 2:
        return packed + packed
    if kind == 3:
        return packed + b"rubbish"
    return packed


def _whole(content: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    kinds = (
        b"",
        b"\n",
        b"\0" * 100,
        content.decode("latin-1").encode("utf-16"),
        b"\xef\xbb\xbf" + content,
        content.upper(),
        bytes(rng.integers(0, 256, 300, dtype=np.uint8)),
        b"x" * 70_000 + content,
    )
    return kinds[int(rng.integers(len(kinds)))]


Change = Callable[[bytes, np.random.Generator, Sequence[bytes]], bytes]
_CHANGES: tuple[tuple[str, Change], ...] = (
    ("bits turned", _flip),
    ("bytes set", _set),
    ("cut", _cut),
    ("a span removed", _remove),
    ("a span repeated", _repeat),
    ("a token put in", _insert),
    ("a field replaced", _field),
    ("lines", _lines),
    ("signs replaced", _replace),
    ("another file", _other),
    ("packed", _packed),
    ("something else", _whole),
)
