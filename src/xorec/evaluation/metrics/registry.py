"""The metrics. A new one is its file, or its entry beside its kin, and one line here.

Reports, tables and the tuner take their names from here, in this order.
"""

from __future__ import annotations

from xorec.evaluation.metrics.base import ItemMetric, UserMetric
from xorec.evaluation.metrics.exposure import COVERAGE, GINI
from xorec.evaluation.metrics.hits import HR, PRECISION, RECALL, USER_HR
from xorec.evaluation.metrics.map import MAP
from xorec.evaluation.metrics.mrr import MRR
from xorec.evaluation.metrics.ndcg import NDCG

USER_METRICS: dict[str, UserMetric] = {
    metric.name: metric for metric in (NDCG, RECALL, HR, USER_HR, PRECISION, MRR, MAP)
}
"""Metrics that users have values of: what a model can be tuned for, tested and resampled."""

ITEM_METRICS: dict[str, ItemMetric] = {metric.name: metric for metric in (COVERAGE, GINI)}
"""Metrics of all lists together."""

METRICS = (*USER_METRICS, *ITEM_METRICS)
"""All names."""
