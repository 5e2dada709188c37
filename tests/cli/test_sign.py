from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xorec.cli.main import app
from xorec.testing.examples import shop


def run(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


def test_sign_and_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shop().save("m.xorec")
    assert run("sign", "--new-key", "ann")[0] == 0
    code, output = run("verify", "m.xorec", "--key", "ann.pub")
    assert (code, output.count("\n")) == (2, 1)
    assert "is not signed" in output
    assert run("sign", "m.xorec", "--key", "ann.key") == (0, "m.xorec.sig signs m.xorec.\n")
    code, output = run("verify", "m.xorec", "--key", "ann.pub")
    assert code == 0
    assert output.startswith("m.xorec is signed by ann.pub")
    with Path("m.xorec").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    assert run("verify", "m.xorec", "--key", "ann.pub")[0] == 2


def test_doctor_says_what_was_verified(tmp_path: Path) -> None:
    shop().save(tmp_path / "m.xorec")
    code, output = run("doctor", tmp_path / "m.xorec", "--json")
    assert code == 0
    assert "(BLAKE3 of metadata and tensors, verified)" in output
    assert '"signature": "none"' in output
    assert '"values": "checked: every type' in output


def test_what_to_sign_must_be_said(tmp_path: Path) -> None:
    for words in ([], ["m.xorec"], ["m.xorec", "--new-key", "ann"]):
        code, output = run("sign", *words)
        assert code == 2
        assert "say what to sign" in output
