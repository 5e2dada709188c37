"""The event log: one writer with group commit in SQLite or PostgreSQL; everything else reads."""

from __future__ import annotations
