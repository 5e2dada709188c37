"""Rows scaled to unit length, and the way of a gradient back through it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel


@fast_kernel
def to_unit(rows: Any, unit: Any, begin: Any, end: Any) -> None:
    """unit = row / |row|; a row of zeros stays."""
    for row in range(begin, end):
        total = np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * rows[row, f]
        factor = np.float32(1) / np.sqrt(total) if total > np.float32(0) else np.float32(0)
        for f in range(rows.shape[1]):
            unit[row, f] = factor * rows[row, f]


@fast_kernel
def through_unit(rows: Any, unit: Any, gradients: Any, begin: Any, end: Any) -> None:
    """Gradients at `unit` become gradients at `rows`: (g - (g.e) e) / |row|, e the unit row."""
    for row in range(begin, end):
        total, along = np.float32(0), np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * rows[row, f]
            along += gradients[row, f] * unit[row, f]
        factor = np.float32(1) / np.sqrt(total) if total > np.float32(0) else np.float32(0)
        for f in range(rows.shape[1]):
            gradients[row, f] = factor * (gradients[row, f] - along * unit[row, f])
