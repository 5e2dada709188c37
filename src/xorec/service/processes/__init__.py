"""Processes: start, supervise, fork, hand writes on, end."""

from __future__ import annotations
