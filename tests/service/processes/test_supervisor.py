"""Where workers meet."""

from __future__ import annotations

import tempfile

import pytest

from xorec.service.processes.supervisor import folder_for_sockets


@pytest.mark.parametrize(("letters", "short"), [(76, True), (77, False), (200, False)])
def test_sockets_are_in_a_folder_whose_name_is_short_enough(
    monkeypatch: pytest.MonkeyPatch, letters: int, short: bool
) -> None:
    folder = "/" + "x" * letters
    monkeypatch.setattr(tempfile, "tempdir", folder)
    assert folder_for_sockets() == (folder if short else "/tmp")
