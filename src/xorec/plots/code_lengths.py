"""What a bit buys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xorec.core.errors import OptionError
from xorec.evaluation.metrics.names import heading
from xorec.plots.figures import draw
from xorec.plots.pictures import Picture, require_matplotlib
from xorec.plots.rows import rows_of
from xorec.plots.series import Figure, Line, Panel


def bits(compared: Iterable[Any], *, metric: str = "ndcg@10", title: str = "") -> Picture:
    """A metric against the length of codes, a line for each model of codes.

    compared: what `compare_models(data, models, bits=...)` gives, or the rows of `xorec compare
    --bits 16,32,64 --json`. The best of the rows without codes is a level to compare with.

    >>> import xorec
    >>> rows = [{"model": "dsiml", "bits": n, "ndcg@10": n / 200} for n in (16, 32, 64)]
    >>> "dsiml" in xorec.plots.bits(rows).svg
    True
    """
    require_matplotlib()
    rows = rows_of(compared, "model", metric)
    coded = [row for row in rows if row.get("bits") is not None]
    if not coded:
        raise OptionError("no row has bits: compare models of codes, such as dsiml, with bits=.")
    lines = []
    for name in dict.fromkeys(str(row["model"]) for row in coded):
        best: dict[int, float] = {}
        for row in coded:
            if row["model"] == name:
                best[row["bits"]] = max(float(row[metric]), best.get(row["bits"], float("-inf")))
        lines.append(Line(name, sorted(best), [best[one] for one in sorted(best)]))
    others = [(float(row[metric]), str(row["model"])) for row in rows if row.get("bits") is None]
    title = title or (f"{heading(metric)} of {lines[0].label}" if len(lines) == 1 else "")
    panel = Panel(title, "bits", heading(metric), lines, level=max(others, default=None))
    drawn = draw(Figure("bits", title or "What a bit buys", [panel]))
    return Picture(drawn.svg, drawn.png)
