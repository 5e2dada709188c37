"""Altered inputs: files of every format, frames, matrices, rows and item files.

Case `number` of a seed is always the same. Each must be read or refused with a XorecError, in
bounded time and memory, and what was read must be sound. Cases run in forked children, many in
each; the child dies of what hangs, crashes or takes too much, and its last case is the culprit.
"""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.altered_bytes import altered_bytes
from tests.support.altered_files import CRASHED, HUNG, RAISED, REFUSED
from tests.support.altered_objects import altered_object
from xorec.core.errors import XorecError
from xorec.core.printable import LONGEST_MESSAGE, printable
from xorec.data.interactions import Interactions

READ, UNSOUND, FAT = "read", "unsound", "fat"
"""What becomes of a case, beside the words of `altered_files`."""
SECONDS = 30
MEGABYTES = 1500
"""What one case may add to the largest size of the process."""
ADDRESSES = 12 * 10**9
"""Bytes of address space of a child."""

_ROWS = [(f"u{n % 7}", f"i{n * 5 % 11}", n % 5 + 1, 10**9 + n) for n in range(40)]
_TABLE = [
    (str(n % 7 + 1), str(n * 5 % 11 + 100), str(n % 5 + 1), str(10**9 + n)) for n in range(40)
]


def originals() -> dict[str, bytes]:
    """A small file of every format, by its name."""
    lines = {
        sep: "\n".join(sep.join(row) for row in _TABLE) + "\n" for sep in (",", "\t", "::", " ")
    }
    named = "".join(",".join(map(str, row)) + "\n" for row in _ROWS)
    inter = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + lines["\t"]
    objects = "".join(
        f'{{"reviewerID": "{u}", "asin": "{i}", "overall": {r}, "unixReviewTime": {t}, "x": [1]}}\n'
        for u, i, r, t in _ROWS
    )
    quoted = 'user,item,rating\n"a, b",1,3\n"c ""d""",2,4\n"e",3,5\n'
    texts = {
        "header.csv": "user,item,rating,timestamp\n" + named,
        "plain.csv": lines[","],
        "quoted.csv": quoted,
        "split.csv": "user,item,split\n" + "".join(f"u{n % 5},i{n % 9},train\n" for n in range(30)),
        "table.tsv": "user\titem\trating\ttimestamp\n" + lines["\t"],
        "ratings.dat": lines["::"],
        "blanks.dat": lines[" "],
        "pairs.inter": inter,
        "reviews.jsonl": objects,
        "numbers.jsonl": "".join(f'{{"user": {n % 5}, "item": {n % 9}.5}}\n' for n in range(30)),
        "lists.txt": "".join(f"{n} {n + 1} {n + 2} {n * 3}\n" for n in range(20)) + "3 4\n",
        "no-ending": lines[","],
    }
    files = {name: text.encode() for name, text in texts.items()}
    for name in ("header.csv", "reviews.jsonl", "lists.txt", "ratings.dat"):
        files[f"{name}.gz"] = gzip.compress(files[name], mtime=0)
    return files | _parquet_files()


def item_files() -> dict[str, bytes]:
    """Files that tell of items."""
    return {
        "items.csv": b"item,title,genres\n"
        + b"".join(b"i%d,Name %d,a|b\n" % (n, n) for n in range(11)),
        "movies.dat": "".join(f"i{n}::Caf\xe9 {n}::A|B\n" for n in range(11)).encode("latin-1"),
        "items.jsonl": b"".join(
            b'{"item": "i%d", "title": "N", "categories": [["a", "b"], ["c"]]}\n' % n
            for n in range(11)
        ),
        "things.item": b"item_id:token\tname:token\tclass:token_seq\n"
        + b"".join(b"i%d\tN\ta b\n" % n for n in range(11)),
    }


def _parquet_files() -> dict[str, bytes]:
    """Written by Arrow: polars starts threads, and a process that has some cannot fork."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    users, items, ratings, times = (list(column) for column in zip(*_ROWS, strict=True))
    table = pa.table({"user": users, "item": items, "rating": ratings, "timestamp": times})
    files = {}
    kinds: dict[str, dict[str, Any]] = {
        "plain.parquet": {"compression": "none", "use_dictionary": False},
        "snappy.parquet": {"compression": "snappy"},
        "zstd.pq": {"compression": "zstd"},
    }
    for name, options in kinds.items():
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, **options)
        files[name] = sink.getvalue().to_pybytes()
    return files


Case = tuple[str, Callable[[], Interactions]]


class Inputs:
    """The cases of one seed, below a folder of its own."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.files, self.item_files = originals(), item_files()
        self._others = [*self.files.values(), *self.item_files.values()]

    def case(self, number: int) -> Case:
        """(what it is, a function that reads it). The files are written here."""
        rng = np.random.default_rng([self.seed, number])
        kind = number % 8
        if kind > 5:
            what, thing = altered_object(rng)
            return what, lambda: _read(thing)
        makers = {4: self._split_folder, 5: self._item_info}
        return makers.get(kind, self._file)(rng)

    def _file(self, rng: np.random.Generator) -> Case:
        name = str(rng.choice(list(self.files)))
        what, content = altered_bytes(self.files[name], rng, self._others)
        path = self._write(name, content)
        options = _options(rng)
        return f"{name}: {what} {options or ''}", lambda: _read(path, **options)

    def _split_folder(self, rng: np.random.Generator) -> Case:
        ending = str(rng.choice(["csv", "txt", "jsonl", "parquet", "csv.gz"]))
        source = {"csv": "header.csv", "txt": "lists.txt", "jsonl": "reviews.jsonl"}
        content = self.files[source.get(ending, {"csv.gz": "header.csv.gz"}.get(ending, "zstd.pq"))]
        what, other = altered_bytes(content, rng, self._others)
        folder = self.folder / "folder"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for part in ("train", "valid", "test"):
            (folder / f"{part}.{ending}").write_bytes(other if part == "test" else content)
        if rng.random() < 0.3:
            (folder / "items.csv").write_bytes(altered_bytes(content, rng, self._others)[1])
        return f"folder of {ending}: {what}", lambda: _read(folder)

    def _item_info(self, rng: np.random.Generator) -> Case:
        name = str(rng.choice(list(self.item_files)))
        what, content = altered_bytes(self.item_files[name], rng, self._others)
        path = self._write(name, content)
        return f"item_info {name}: {what}", lambda: _read([r[:2] for r in _ROWS], item_info=path)

    def _write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


def _read(source: Any, **options: Any) -> Interactions:
    from xorec.data.io.read import read

    return read(source, threads=1, **options)


def _options(rng: np.random.Generator) -> dict[str, Any]:
    """What a caller says of a file, right or wrong; mostly nothing."""
    if rng.random() < 0.7:
        return {}
    choices: dict[str, tuple[Any, ...]] = {
        "has_header": (True, False),
        "separator": (",", "\t", "::", " ", ";", "\0", "\n", '"', "\u00e9", "ab"),
        "format": ("csv", "tsv", "inter", "jsonl", "list", "dat", "parquet"),
        "user_column": ("user", "column_1", "item", "", "nobody"),
        "item_column": ("item", "column_2", "user"),
        "rating_column": ("", "rating", "user", "column_3"),
        "time_column": ("", "timestamp", "item", "rating"),
        "split_column": ("split", "", "user"),
        "max_line": (100, "1MB"),
        "max_expanded": (500, "1MB"),
    }
    names = rng.choice(list(choices), int(rng.integers(1, 3)), replace=False)
    return {str(name): choices[name][int(rng.integers(len(choices[name])))] for name in names}


def require_sound(data: Interactions) -> None:
    """Assert what holds for whatever was read."""
    indptr, indices = data.indptr, data.indices
    assert len(indptr) == data.n_users + 1
    assert (indptr[0], indptr[-1]) == (0, len(indices))
    assert (np.diff(indptr) >= 0).all()
    assert data.n_pairs > 0
    assert 0 <= indices.min() <= indices.max() < data.n_items
    rising = np.diff(indices) > 0
    rising[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(indices))] - 1] = True
    assert rising.all(), "pairs are not distinct and ascending"
    for ids in (data.users, data.items):
        raw = list(ids)
        assert len(set(raw)) == len(raw), "ids are not distinct"
        assert all(ids.find(raw[row]) == row for row in {0, len(raw) // 2, len(raw) - 1})
        assert all(isinstance(one, type(raw[0])) for one in raw)
        if isinstance(raw[0], str):
            "".join(raw).encode()  # half of a surrogate pair would raise
    for array in (data.times, data.ratings, data.parts):
        assert array is None or len(array) == data.n_pairs
    assert data.ratings is None or np.isfinite(data.ratings).all()
    assert data.parts is None or ((data.parts >= 0) & (data.parts <= 2)).all()
    assert data.names is None or len(data.names) == data.n_items
    if data.categories is not None:
        assert len(data.categories.indptr) == data.n_items + 1
        assert all(0 <= label < len(data.categories.labels) for label in data.categories.indices)
    repr(data)
    data._repr_html_()


def _outcome(number: int, read: Callable[[], Interactions]) -> str:
    """A word and details for one case, in this process."""
    before = _peak()
    try:
        data = read()
        require_sound(data)
        if number % 5 == 0:
            assert read().digest() == data.digest(), "another result for the same input"
        said = READ
    except XorecError as error:
        text = str(error)
        safe = text == printable(text, lines=True) and 0 < len(text) <= LONGEST_MESSAGE
        said = f"{REFUSED if safe else UNSOUND} {text}"
    except AssertionError as error:
        said = f"{UNSOUND} {error}"
    except BaseException as error:  # what we look for
        said = f"{RAISED} {type(error).__name__}: {error}"
    grown = _peak() - before
    return f"{FAT} {grown:.0f} MB more" if grown > MEGABYTES and READ not in said else said


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_cases(inputs: Inputs, numbers: Sequence[int]) -> Iterator[tuple[int, str, str, str]]:
    """(number, what it is, one of the words above, details) of each, from forked children."""
    left = list(numbers)
    while left:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _run_child(inputs, left, writing)
        os.close(writing)
        last = ""
        with os.fdopen(reading, "rb") as pipe:
            for line in pipe:
                text = line.decode(errors="replace").rstrip("\n")
                if text.startswith("begins "):
                    last = text.removeprefix("begins ")
                    continue
                word, _, details = text.partition(" ")
                yield left.pop(0), last, word, details
        _, status = os.waitpid(child, 0)
        if left:
            word, details = RAISED, f"exit {status}"
            if os.WIFSIGNALED(status):
                sign = signal.Signals(os.WTERMSIG(status))
                word, details = (HUNG if sign == signal.SIGALRM else CRASHED), sign.name
            yield left.pop(0), last, word, details


def _run_child(inputs: Inputs, numbers: Sequence[int], writing: int) -> None:
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # panics of polars write there
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number in numbers:
        _say(writing, "begins to be made")
        what, read = inputs.case(number)
        _say(writing, f"begins {what}")
        signal.alarm(SECONDS)
        said = _outcome(number, read)
        signal.alarm(0)
        _say(writing, said)
    os._exit(0)


def _say(writing: int, text: str) -> None:
    os.write(writing, printable(text[:1000]).encode(errors="replace") + b"\n")
