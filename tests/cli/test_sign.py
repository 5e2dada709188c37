from __future__ import annotations

import os
from pathlib import Path

import pytest

from xorec.testing.examples import shop

from .conftest import Run, refused


def test_sign_and_verify(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shop().save("m.xorec")
    run.ok("sign", "--new-key", "ann")
    verify = ("verify", "m.xorec", "--key", "ann.pub")
    refused(run(*verify), "is not signed")
    assert run.ok("sign", "m.xorec", "--key", "ann.key").stdout == "m.xorec.sig signs m.xorec.\n"
    assert run.ok(*verify).stdout.startswith("m.xorec is signed by ann.pub")
    with Path("m.xorec").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    assert run(*verify).exit_code == 2


def test_what_to_sign_must_be_said(run: Run) -> None:
    for words in ([], ["m.xorec"], ["m.xorec", "--new-key", "ann"]):
        refused(run("sign", *words), "say what to sign")
