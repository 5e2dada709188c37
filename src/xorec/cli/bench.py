"""xorec bench: how fast it is on this machine, beside others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table
from xorec.core.errors import OptionError

app = typer.Typer(
    help="Measure speed on this machine, compared with other libraries.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def bench() -> None:
    """Measure speed on this machine, compared with other libraries."""


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
def search(
    *,
    settings: SearchSettings,
    quiet: args.Quiet = False,
    json: args.Json = False,
) -> None:
    """Compare exact search of codes with faiss and with exact float ranking, in one run.

    single: a call for each query; batch: one call for all. Times are medians over rounds, spread
    is their interquartile range. First, xorec's answers are checked against brute force.
    """
    from xorec.lab.bench.search import SearchBench

    sizes = (settings.items,) if settings.sizes is None else _sizes(settings.sizes)
    same = ("bits", "k", "codes", "queries", "seen", "repeats", "threads", "seed", "budget")
    wanted: dict[str, Any] = {name: getattr(settings, name) for name in same}
    methods = () if settings.methods is None else args.parse_names(settings.methods)
    bench = SearchBench(sizes=sizes, methods=methods, **wanted)
    if settings.plot is not None:
        from xorec.lab.bench.search import check_plot

        check_plot(settings.plot, sizes)
    result = bench.run(args.progress_of(quiet))
    if settings.plot is not None:
        from xorec.lab.bench.search import picture

        picture(result).save(settings.plot)
    if json:
        print_json(result)
        return
    _print(result)


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
    if json:
        rows = [{"constant": name, "value": value} for name, value in found.items()]
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
def train(
    *,
    settings: TrainSettings,
    quiet: args.Quiet = False,
    json: args.Json = False,
) -> None:
    """Compare how fast models learn with implicit's, on the same pairs and threads.

    An epoch is one pass over all pairs, each with its negatives. Times are medians over rounds and
    without set-up; MB is the peak of a process of its own.
    """
    from xorec.lab.bench.train import METHODS, TrainBench

    given = settings.methods
    bench = TrainBench(
        data=settings.data,
        methods=tuple(METHODS) if given is None else args.parse_names(given),
        dimensions=settings.dimensions,
        threads=settings.threads,
        rounds=settings.rounds,
    )
    result = bench.run(args.progress_of(quiet))
    if json:
        print_json(result)
        return
    about = result["data"]
    heads = ("method", "negatives", "triplets/s", "s/epoch", "fastest", "slowest", "MB", "x peer")
    cells = [
        (
            row["method"],
            str(row["negatives"]),
            _figure(row["triplets_per_second"]),
            *(_figure(row[name]) for name in ("seconds_per_epoch", "fastest", "slowest")),
            _figure(row["peak_mb"]),
            "" if row["times_as_fast"] is None else _figure(row["times_as_fast"]),
        )
        for row in result["rows"]
    ]
    title = f"{about['name']}, {about['pairs']:,} pairs, {settings.dimensions} dimensions"
    print_table(heads, cells, title, right=heads[1:])
    print_line("x peer: triplets a second over those of implicit's model of this kind.")


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
def serve(
    *,
    settings: ServeSettings,
    quiet: args.Quiet = False,
    json: args.Json = False,
) -> None:
    """Measure the service over HTTP on this machine: requests a second and latency.

    Closed loop: each client sends its next request when it has its answer, so the number of clients
    sets the load. Open loop: requests have planned times, and latency is counted from these, so it
    includes waiting in a queue. With two cores or more, the server has its own.
    """
    from xorec.lab.bench.serve import ServeBench

    same = ("what", "seconds", "requests", "k", "items", "users", "bits", "seed", "workers")
    wanted: dict[str, Any] = {name: getattr(settings, name) for name in same}
    bench = ServeBench(
        clients=tuple(map(int, _numbers(settings.clients, "clients"))),
        shares=_numbers(settings.share, "share"),
        rates=_numbers(settings.rate, "rate"),
        model=settings.model,
        url=settings.url,
        key=settings.key,
        **wanted,
    )
    result = bench.run(args.progress_of(quiet))
    if json:
        print_json(result)
        return
    _print_serve(result)


def _numbers(text: str, name: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise OptionError(f"--{name} is {text!r}: give numbers with commas.") from None


def _print_serve(result: dict[str, Any]) -> None:
    about = result["data"]
    title = f"{about['what']}, k = {about['k']}, {about['workers']} worker(s)"
    if about["url"] is None:
        title += f", {about['items']:,} items x {about['bits']} bits, {about['users']:,} users"
    heads = ("mode", "clients", "rate", "req/s", "p50 ms", "p99 ms", "errors", "cpu us", "MB")
    cells = [
        (
            row["mode"],
            str(row["clients"]),
            "" if row["rate"] is None else _figure(row["rate"]),
            _figure(row["requests_per_second"]),
            f"{row['p50_ms']:.2f}",
            f"{row['p99_ms']:.2f}",
            str(row["errors"]),
            "" if row["cpu_us_per_request"] is None else _figure(row["cpu_us_per_request"]),
            "" if row["rss_mb"] is None else _figure(row["rss_mb"]),
        )
        for row in result["rows"]
    ]
    print_table(heads, cells, title, right=heads[1:])
    print_line()
    print_line("cpu us: the server's processor time for each request, all of its processes.")


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise OptionError(
            f"--sizes is {text!r}: give whole numbers with commas, for example 10000,100000."
        ) from None


def _print(result: dict[str, Any]) -> None:
    """A table of times and a table of sizes for each number of items, in 80 columns."""
    about = result["data"]
    for size in about["items"]:
        rows = [row for row in result["rows"] if row["items"] == size]
        title = (
            f"{size:,} items x {about['bits']} bits, {about['codes']} codes, k = {about['k']}, "
            f"{about['threads']} thread{'s' if about['threads'] > 1 else ''}"
        )
        heads = ("method", "mode", "seen", "us/query", "spread", "recall", "x flat", "x float")
        print_table(heads, map(_times, rows), title, right=heads[2:])
        print_line()
        built = {row["method"]: row for row in rows}.values()
        cells = [
            (row["method"], f"{row['build_seconds']:.2f}", f"{row['bytes_per_item']:.1f}")
            for row in built
        ]
        print_table(
            ("method", "build s", "bytes an item"), cells, right=("build s", "bytes an item")
        )
        print_line()
    print_line("x flat: times as fast as faiss-binary-flat; x float: as the fastest float row.")
    print_line(f"xorec equals brute force on {about['checked']} queries, ties and all.")


def _times(row: dict[str, Any]) -> tuple[str, ...]:
    flat, floats = row["speedup_faiss_flat"], row["speedup_best_float"]
    return (
        row["method"],
        row["mode"],
        str(row["seen"] or ""),
        _figure(row["us_per_query"]),
        _figure(row["spread"]),
        f"{row['recall']:.3f}",
        "" if flat is None else _figure(flat),
        "" if floats is None else _figure(floats),
    )


def _figure(value: float) -> str:
    """Three digits or so: 0.52, 14.1, 1,330."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
