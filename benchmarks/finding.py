"""How long it takes to find items by letters, and what that costs: `python benchmarks/finding.py`.

Names are of four words, drawn as letters of English stand; ids are `item-0000123`. Nothing is kept.
Milliseconds of the clock, and those of the processor, which others at work disturb less.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from collections.abc import Callable

import numpy as np

from xorec.data.text import Text
from xorec.service.live.text_search import TextColumn, normalize_text, normalized_column

_SHARES = (
    *(8.2, 1.5, 2.8, 4.3, 12.7, 2.2, 2.0, 6.1, 7.0, 0.15, 0.77, 4.0, 2.4),
    *(6.7, 7.5, 1.9, 0.095, 6.0, 6.3, 9.1, 2.8, 0.98, 2.4, 0.15, 2.0, 0.074),
)
_WORDS = 20_000


def main() -> None:
    """Build the index once, ask it everything, print milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--accents", type=float, default=0.0, help="share of names with accents")
    parser.add_argument("--times", type=int, default=20, help="of every query; the median counts")
    parser.add_argument("-k", type=int, default=20)
    arguments = parser.parse_args()
    ids, names = _drawn(arguments.names, arguments.accents)
    text_mb = (len(ids.data) + len(names.data)) / 1e6
    normalized_column(Text.pack(["\u00e9"]), np.arange(1))  # loads polars
    begun, used = time.perf_counter(), time.thread_time()
    order = np.arange(len(ids))[::-1]
    index = TextColumn(normalized_column(ids, order), normalized_column(names, order))
    seconds, busy_seconds = time.perf_counter() - begun, time.thread_time() - used
    index.search("warm", arguments.k)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{arguments.names:,} entries, {text_mb:.1f} MB of text, {index.nbytes / 1e6:.1f} MB kept"
    )
    print(f"packed in {seconds:.2f} s, {busy_seconds:.2f} of the CPU; peak {peak:.0f} MB")
    print(f"{'letters':>28} {'found':>6} {'median ms':>10} {'most ms':>8} {'of the CPU':>11}")
    for letters in _queries(names):
        wanted = normalize_text(letters)
        found, times, busy = 0, [], []
        for _ in range(arguments.times):
            begun, used = time.perf_counter(), time.thread_time()
            found = len(index.search(wanted, arguments.k))
            times.append(1000 * (time.perf_counter() - begun))
            busy.append(1000 * (time.thread_time() - used))
        row = f"{letters[:24]!r:>28} {found:>6} {np.median(times):>10.2f} {max(times):>8.2f}"
        print(f"{row} {np.median(busy):>11.2f}")
    held = _held(lambda: index.search("qqqqqq", arguments.k), arguments.times)
    print(f"longest wait of another thread while it searches: {held:.2f} ms")


def _queries(names: Text) -> list[str]:
    """One letter, three, twelve; common, rare, at the end, nowhere."""
    last, middle = names[0], names[len(names) // 2]
    return [
        *("e", "q", "0", "-", "ing", "tem", "qqq", middle[:3], last[:12], last[3:15]),
        *(middle[5:17], "item-0000000", "item-00", "0000001", "no such letters", "zzzzzzzzzzzz"),
        *("m-", "ITEM-0000001", "caf\u00e9", "x" * 256),
    ]


def _held(search: Callable[[], object], times: int) -> float:
    """Milliseconds for which a thread that only counts the time does not come to its turn."""
    longest, ends = 0.0, threading.Event()

    def look() -> None:
        nonlocal longest
        before = time.perf_counter()
        while not ends.is_set():
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
            time.sleep(0.0002)

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(times):
        search()
    ends.set()
    thread.join()
    return 1000 * longest


def _drawn(count: int, accents: float) -> tuple[Text, Text]:
    rng = np.random.default_rng(0)
    letters, shares = list("abcdefghijklmnopqrstuvwxyz"), np.array(_SHARES) / sum(_SHARES)
    sizes = rng.integers(2, 10, _WORDS)
    words = ["".join(rng.choice(letters, p=shares, size=size)) for size in sizes]
    words = [word.title() if at % 2 else word for at, word in enumerate(words)]
    drawn = (rng.random((count, 4)) ** 3 * _WORDS).astype(np.int64)
    other = (rng.random(count) < accents).tolist()
    names = (
        " ".join(words[at] for at in row) + ("\u00e9" if accented else "")
        for row, accented in zip(drawn.tolist(), other, strict=True)
    )
    return Text.pack(f"item-{n:07d}" for n in range(count)), Text.pack(names)


if __name__ == "__main__":
    main()
