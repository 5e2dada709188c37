"""The picture of `xorec bench search`: time per query against the number of items."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xorec.core.errors import MissingExtraError, OptionError
from xorec.lab.bench.search import FAISS_FLAT, best_float, row_of

SERIES = {
    "xorec": ("xorec", "#1f6feb", "o"),
    "faiss": ("faiss IndexBinaryFlat", "#d1651a", "s"),
    "float": ("best exact float ranking", "#666666", "^"),
}
"""What is shown: label, colour, marker."""


def check_plot(path: Path, sizes: Sequence[int]) -> None:
    """Complain before the run, not after it."""
    if path.suffix not in (".svg", ".png"):
        raise OptionError(f"plot is {str(path)!r}: give a file that ends in .svg or .png.")
    if len(set(sizes)) < 2:
        raise OptionError("plot needs two sizes or more: give --sizes 10000,100000,1000000.")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"there is no folder {path.parent} for the plot: make it first.")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("a plot needs matplotlib: pip install 'xorec[plots]'.")


def series(rows: Sequence[dict[str, Any]], mode: str) -> dict[str, list[tuple[int, float]]]:
    """(items, microseconds) of xorec, of faiss flat and of the best float row, in one mode."""
    lines: dict[str, list[tuple[int, float]]] = {name: [] for name in SERIES}
    for size in sorted({row["items"] for row in rows}):
        part = [r for r in rows if r["items"] == size and r["mode"] == mode and not r["seen"]]
        found = {
            "xorec": row_of(part, "xorec"),
            "faiss": row_of(part, FAISS_FLAT),
            "float": best_float(part),
        }
        for name, row in found.items():
            if row is not None:
                lines[name].append((size, row["us_per_query"]))
    return lines


def plot_search(result: dict[str, Any], path: Path) -> None:
    """Write the picture: single and batch side by side, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "xorec"
    from matplotlib import pyplot as plt

    about = result["data"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    for axis, mode in zip(axes, ("single", "batch"), strict=True):
        for name, points in series(result["rows"], mode).items():
            label, colour, marker = SERIES[name]
            if points:
                axis.plot(*zip(*points, strict=True), color=colour, marker=marker, label=label)
                axis.annotate(
                    _time(points[-1][1]),
                    points[-1],
                    xytext=(8, 0),
                    textcoords="offset points",
                    va="center",
                    color=colour,
                )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(about["items"][0] / 1.8, about["items"][-1] * 5)
        axis.set_title("one query a call" if mode == "single" else "all queries in one call")
        axis.set_xlabel("items")
        axis.grid(which="major", color="#e5e5e5", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("microseconds per query")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    threads = f"{about['threads']} thread" + ("s" if about["threads"] > 1 else "")
    figure.suptitle(
        f"Exact top {about['k']} of {about['bits']}-bit codes ({about['codes']}), {threads}"
    )
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, dpi=130, metadata=metadata)
    plt.close(figure)


def _time(us: float) -> str:
    """12.3 as `12 us`, 16123 as `16 ms`."""
    if us < 1000:
        return f"{us:.1f} µs" if us < 10 else f"{us:.0f} µs"
    ms = us / 1000
    return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"
