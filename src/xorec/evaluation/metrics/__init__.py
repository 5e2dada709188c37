"""The metrics and their names: a new one is its file, or its entry beside its kin, and a line here.

Reports, tables and the tuner take their names from here, in this order.
"""

from __future__ import annotations

import re

from xorec.core.errors import OptionError
from xorec.core.printable import did_you_mean
from xorec.evaluation.metrics.base import ItemMetric, UserMetric
from xorec.evaluation.metrics.by_rank import MAP, MRR, NDCG
from xorec.evaluation.metrics.hits import COVERAGE, GINI, HR, PRECISION, RECALL, USER_HR

USER_METRICS: dict[str, UserMetric] = {
    metric.name: metric for metric in (NDCG, RECALL, HR, USER_HR, PRECISION, MRR, MAP)
}
"""Metrics that users have values of: what a model can be tuned for, tested and resampled."""

ITEM_METRICS: dict[str, ItemMetric] = {metric.name: metric for metric in (COVERAGE, GINI)}
"""Metrics of all lists together."""

METRICS = (*USER_METRICS, *ITEM_METRICS)
"""All names."""


def parse_metric(text: str) -> tuple[str, int]:
    """The metric and its cut-off.

    >>> parse_metric("recall@20")
    ('recall', 20)
    """
    found = re.fullmatch(r"([a-z_]+)@([1-9][0-9]*)(_expected)?", text)
    name, cut, expected = found.groups() if found else (text.partition("@")[0], "", None)
    if name not in (USER_METRICS if expected else METRICS):
        hint = did_you_mean(name, METRICS)
        raise OptionError(f"there is no metric {text!r}: they are {', '.join(METRICS)}.{hint}")
    if not cut:
        raise OptionError(f"the metric {text!r} has no cut-off: give it as {name}@10.")
    return name, int(cut)


def is_per_user(metric: str) -> bool:
    """Whether users have values of it, so that it has an interval and can be tested."""
    return parse_metric(metric)[0] in USER_METRICS


def heading(metric: str) -> str:
    """The name at the head of a column.

    >>> heading("ndcg@10"), heading("recall@20"), heading("user_hr@5")
    ('NDCG@10', 'Recall@20', 'user HR@5')
    """
    name, at, cut = metric.partition("@")
    words = [
        word.upper() if word in ("ndcg", "hr", "mrr", "map") else word for word in name.split("_")
    ]
    text = " ".join(words)
    return f"{text if len(words) > 1 or text.isupper() else text.capitalize()}{at}{cut}"
