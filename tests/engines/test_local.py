"""Threads: the kit of engines."""

from __future__ import annotations

import pytest

from xorec.core.engine import Engine, LocalEngine
from xorec.testing.engines import EngineKit


class TestLocal(EngineKit):
    @pytest.fixture(params=[1, 2, 5])
    def engine(self, request: pytest.FixtureRequest) -> Engine:
        return LocalEngine(request.param)
