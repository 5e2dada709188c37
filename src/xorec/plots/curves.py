"""Training curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xorec.core.errors import OptionError
from xorec.plots.figures import draw
from xorec.plots.pictures import Picture, require_matplotlib
from xorec.plots.series import Figure, Line, Panel


def training_curves(*models: Any, title: str = "") -> Picture:
    """The loss of each epoch, and the validation metric where there was a validation part.

    models: fitted ones that learn by epochs (`history_`). Losses of different models are not
    comparable, so look at each line by itself; validation figures are.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> model = xorec.BPR(epochs=3, dimensions=4).fit(pairs)
    >>> "epoch" in xorec.plots.training_curves(model).svg
    True
    """
    require_matplotlib()
    silent = [model.name for model in models if not model.history_]
    if silent or not models:
        raise OptionError(
            f"{', '.join(silent) or 'nothing'} has no epochs to show: give fitted models that "
            "learn by epochs, such as bpr or siml."
        )
    columns = dict.fromkeys(name for model in models for row in model.history_ for name in row)
    title = title or (models[0].name if len(models) == 1 else "")
    panels = [_panel(models, name, title) for name in columns if name != "epoch"]
    drawn = draw(Figure("training", title or "Training", panels))
    return Picture(drawn.svg, drawn.png)


def _panel(models: Sequence[Any], name: str, title: str) -> Panel:
    lines = [_line(model, name, len(models)) for model in models]
    return Panel(title, "epoch", name.replace("_", " "), lines)


def _line(model: Any, name: str, of: int) -> Line:
    """A line; where there are several models, named with the length of its rows."""
    rows = [row for row in model.history_ if name in row]
    size = getattr(model.config, "dimensions", None) if of > 1 else None
    label = model.name if size is None else f"{model.name} {size}"
    return Line(label, [row["epoch"] for row in rows], [row[name] for row in rows])
