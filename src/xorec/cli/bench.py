"""xorec bench: how fast it is on this machine, beside others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from xorec.cli import arguments as args
from xorec.cli.output import TableColumns, print_json, print_line, print_rows, print_table
from xorec.core.errors import OptionError

_ABOUT = "Measure speed on this machine, compared with other libraries."
app = typer.Typer(help=_ABOUT, no_args_is_help=True, rich_markup_mode=None)


@app.callback(help=_ABOUT)
def bench() -> None:
    """Take a subcommand even if there were only one."""


def _answer(
    bench: Any, quiet: bool, json: bool, show: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run, and print the result as JSON or by `show`."""
    result: dict[str, Any] = bench.run(args.progress_of(quiet))
    (print_json if json else show)(result)
    return result


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """What is searched, by which methods, how often."""

    items: int = args.option(1_000_000, "How many items to search.")
    bits: int | None = args.option(None, "Length of the codes; 64 by default, or the file's own.")
    k: args.K = 10
    codes: str = args.option("low-rank", "low-rank (like learned ones), uniform, or a model file.")
    queries: int = args.option(1_000, "How many queries at most.")
    seen: int = args.option(100, "Length of each query's seen list in the rows that have one.")
    repeats: int = args.option(5, "Rounds; each runs every method once.")
    budget: float = args.option(
        1.0, "Seconds for each method in a round; slow ones answer fewer queries."
    )
    methods: str | None = args.option(
        None, "Names from the printed table, comma-separated, or all."
    )
    sizes: str | None = args.option(
        None, "Several numbers of items, comma-separated, instead of --items."
    )
    plot: Path | None = args.option(None, "A picture of time against items: FILE.svg or FILE.png.")
    seed: int = args.option(0, "The random seed.")
    threads: int = args.option(1, "Threads of every method.")


@app.command("search")
@args.bundled
def search(*, settings: SearchSettings, quiet: args.Quiet = False, json: args.Json = False) -> None:
    """Compare exact search of codes with faiss and with exact float ranking, in one run.

    single: a call for each query; batch: one call for all. Times are medians over rounds, spread
    is their interquartile range. First, xorec's answers are checked against brute force.
    """
    from xorec.lab.bench.search import SearchBench, check_plot, picture

    given = dict(vars(settings))
    items, plot, methods = given.pop("items"), given.pop("plot"), given.pop("methods")
    text = given.pop("sizes")
    sizes = (items,) if text is None else tuple(sorted(set(_numbers(text, "sizes", int))))
    named = () if methods is None else args.parse_names(methods)
    bench = SearchBench(sizes=sizes, methods=named, **given)
    if plot is not None:
        check_plot(plot, sizes)
    result = _answer(bench, quiet, json, _print_search)
    if plot is not None:
        picture(result).save(plot)


@app.command("engine")
@args.bundled
def engine(
    *,
    spark: bool = args.option(True, "Measure Spark, too, where it is installed."),
    quiet: args.Quiet = False,
    json: args.Json = False,
) -> None:
    """Measure what pairs, rows and bytes cost on this machine, for `xorec plan`: a minute or two.

    The figures are kept in the user's cache, where `xorec plan` finds them.
    """
    from xorec.lab.machine_constants import measure
    from xorec.selection.plan.constants import cpu_name, keep_constants

    found = measure(args.progress_of(quiet), spark)
    path = keep_constants(found, cpu_name())
    rows = [{"constant": name, "value": value} for name, value in found.items()]
    if json:
        print_json({"cpu": cpu_name(), "kept": str(path), "rows": rows})
        return
    print_table(("constant", "value"), [(name, _figure(value)) for name, value in found.items()])
    print_line(f"kept in {path}")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """What learns, from which pairs, how often."""

    data: str = args.option("debian", "A file, a folder, or a name from `xorec data list`.")
    dimensions: int = args.option(64, "Length of the vectors of every model.")
    rounds: int = args.option(5, "Rounds; each runs every method once.")
    methods: str | None = args.option(None, "Names from the printed table, comma-separated.")
    threads: int | None = args.option(None, "Threads of every method; all cores by default.")


@app.command("train")
@args.bundled
def train(*, settings: TrainSettings, quiet: args.Quiet = False, json: args.Json = False) -> None:
    """Compare how fast models learn with implicit's, on the same pairs and threads.

    An epoch is one pass over all pairs, each with its negatives. Times are medians over rounds and
    without set-up; MB is the peak of a process of its own.
    """
    from xorec.lab.bench.train import METHODS, TrainBench

    given = dict(vars(settings))
    text = given.pop("methods")
    methods = tuple(METHODS) if text is None else args.parse_names(text)

    def show(result: dict[str, Any]) -> None:
        about = result["data"]
        title = f"{about['name']}, {about['pairs']:,} pairs, {settings.dimensions} dimensions"
        print_rows(result["rows"], _TRAINED, title)
        print_line("x peer: triplets a second over those of implicit's model of this kind.")

    _answer(TrainBench(methods=methods, **given), quiet, json, show)


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """What is sent where, how fast, how long."""

    what: str = args.option("lists", "lists, events or mixed (a tenth of them events).")
    clients: str = args.option(
        "1,32,128", "Closed loop with these numbers of clients, comma-separated."
    )
    share: str = args.option(
        "0.5", "Open loop at these shares of the measured maximum, comma-separated."
    )
    rate: str = args.option("", "Open loop at these rates (requests a second), comma-separated.")
    seconds: float = args.option(10.0, "Seconds of a run, at most.")
    requests: int = args.option(1_000_000, "Requests of a run, at most.")
    k: args.K = 10
    items: int = args.option(350_000, "Items of the random model.")
    users: int = args.option(100_000, "Users of the random model.")
    bits: int = args.option(64, "Length of its codes.")
    model: Path | None = args.option(None, "A model file to serve; its ids must be numbers from 0.")
    workers: int = args.option(1, "Workers of the service.")
    url: str | None = args.option(None, "Measure a service that already runs on this machine.")
    key: str | None = args.option(None, "The key of that service.", envvar="XOREC_KEY")
    seed: int = args.option(0, "The random seed.")


@app.command("serve")
@args.bundled
def serve(*, settings: ServeSettings, quiet: args.Quiet = False, json: args.Json = False) -> None:
    """Measure the service over HTTP on this machine: requests a second and latency.

    Closed loop: each client sends its next request when it has its answer, so the number of clients
    sets the load. Open loop: requests have planned times, and latency is counted from these, so it
    includes waiting in a queue. With two cores or more, the server has its own.
    """
    from xorec.lab.bench.serve import ServeBench

    given = dict(vars(settings))
    bench = ServeBench(
        clients=tuple(map(int, _numbers(given.pop("clients"), "clients"))),
        shares=_numbers(given.pop("share"), "share"),
        rates=_numbers(given.pop("rate"), "rate"),
        **given,
    )
    _answer(bench, quiet, json, _print_serve)


def _numbers(text: str, name: str, kind: Callable[[str], Any] = float) -> tuple[Any, ...]:
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip() or kind is int)
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        example = ", for example 10000,100000" if kind is int else ""
        raise OptionError(f"--{name} is {text!r}: give {what} with commas{example}.") from None


def _print_serve(result: dict[str, Any]) -> None:
    about = result["data"]
    title = f"{about['what']}, k = {about['k']}, {about['workers']} worker(s)"
    if about["url"] is None:
        title += f", {about['items']:,} items x {about['bits']} bits, {about['users']:,} users"
    print_rows(result["rows"], _SERVED, title)
    print_line()
    print_line("cpu us: the server's processor time for each request, all of its processes.")


def _print_search(result: dict[str, Any]) -> None:
    """A table of times and a table of sizes for each number of items, in 80 columns."""
    about = result["data"]
    for size in about["items"]:
        rows = [row for row in result["rows"] if row["items"] == size]
        title = (
            f"{size:,} items x {about['bits']} bits, {about['codes']} codes, k = {about['k']}, "
            f"{about['threads']} thread{'s' if about['threads'] > 1 else ''}"
        )
        print_rows(rows, _SEARCHED, title, left=2)
        print_line()
        print_rows(list({row["method"]: row for row in rows}.values()), _BUILT)
        print_line()
    print_line("x flat: times as fast as faiss-binary-flat; x float: as the fastest float row.")
    print_line(f"xorec equals brute force on {about['checked']} queries, ties and all.")


def _figure(value: float) -> str:
    """Three digits or so: 0.52, 14.1, 1,330."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


_SEARCHED: TableColumns = {
    "method": ("method", str),
    "mode": ("mode", str),
    "seen": ("seen", lambda value: str(value or "")),
    "us/query": ("us_per_query", _figure),
    "spread": ("spread", _figure),
    "recall": ("recall", "{:.3f}".format),
    "x flat": ("speedup_faiss_flat", _figure),
    "x float": ("speedup_best_float", _figure),
}
_BUILT: TableColumns = {
    "method": ("method", str),
    "build s": ("build_seconds", "{:.2f}".format),
    "bytes an item": ("bytes_per_item", "{:.1f}".format),
}
_TRAINED: TableColumns = {
    "method": ("method", str),
    "negatives": ("negatives", str),
    "triplets/s": ("triplets_per_second", _figure),
    "s/epoch": ("seconds_per_epoch", _figure),
    "fastest": ("fastest", _figure),
    "slowest": ("slowest", _figure),
    "MB": ("peak_mb", _figure),
    "x peer": ("times_as_fast", _figure),
}
_SERVED: TableColumns = {
    "mode": ("mode", str),
    "clients": ("clients", str),
    "rate": ("rate", _figure),
    "req/s": ("requests_per_second", _figure),
    "p50 ms": ("p50_ms", "{:.2f}".format),
    "p99 ms": ("p99_ms", "{:.2f}".format),
    "errors": ("errors", str),
    "cpu us": ("cpu_us_per_request", _figure),
    "MB": ("rss_mb", _figure),
}
