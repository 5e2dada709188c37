"""Jobs that take long: updates, refits and purges, in a child process of low priority."""

from __future__ import annotations
