from __future__ import annotations

import json
from pathlib import Path

import pytest

from xorec.lab import machine_constants as measuring
from xorec.selection.plan.constants import this_machine

from .conftest import Run


def test_what_was_measured_is_kept_for_plans(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(measuring, "measure", lambda progress, spark: {"ns_flop": 0.5 + spark})
    result = run("bench", "engine", "--no-spark", "--json", "-q")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["rows"] == [{"constant": "ns_flop", "value": 0.5}]
    assert Path(told["kept"]).is_relative_to(tmp_path)
    machine = this_machine()
    assert machine.measured
    assert machine.note == ""
    assert machine.constants.ns_flop == 0.5
    assert "ns_flop" in run("bench", "engine").stdout
    assert this_machine().constants.ns_flop == 1.5
