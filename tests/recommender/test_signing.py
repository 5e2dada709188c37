"""A signature beside the file: whose bytes these are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.model_files import rewrite
from xorec.core.errors import MissingExtraError, ModelFileError, OptionError
from xorec.recommender import signing, storage
from xorec.recommender.recommender import Recommender
from xorec.testing.examples import shop


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shop().save(tmp_path / "m.xorec")
    return tmp_path / "m.xorec"


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return signing.new_key(tmp_path / "ann")


def test_a_signed_file_opens_with_its_key(model: Path, keys: tuple[Path, Path]) -> None:
    before = model.read_bytes()
    assert signing.sign(model, keys[0]) == model.with_name("m.xorec.sig")
    assert model.read_bytes() == before
    assert Recommender.load(model, key=keys[1]).recommend("cem", 1).ids() == ["milk"]
    assert Recommender.load(model).recommend("cem", 1).ids() == ["milk"]


def test_the_private_key_is_for_its_owner(keys: tuple[Path, Path]) -> None:
    assert keys[0].stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in keys[1].read_bytes()
    with pytest.raises(OptionError, match=r"there is .*ann\.key already"):
        signing.new_key(keys[0].with_suffix(""))


def test_no_signature_and_that_of_another_key(
    model: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=r"is not signed: there is no .*m\.xorec\.sig"):
        Recommender.load(model, key=keys[1])
    signing.sign(model, keys[0])
    _, other = signing.new_key(tmp_path / "bob")
    with pytest.raises(ModelFileError, match=r"is not signed by the key .*bob\.pub"):
        Recommender.load(model, key=other)


def test_every_changed_byte_breaks_the_signature(model: Path, keys: tuple[Path, Path]) -> None:
    """Also those that the digest and the checks let pass: a forger writes a digest that fits."""
    signing.sign(model, keys[0])
    rewrite(model, {"prior": shop().item_counts + 1})
    Recommender.load(model)
    with pytest.raises(ModelFileError, match="is not signed by the key"):
        Recommender.load(model, key=keys[1])


@pytest.mark.parametrize("content", [b"", b"xorec signature 1 ed25519\nAA==\nAA==\n", b"\xff" * 99])
def test_a_signature_of_nonsense(model: Path, keys: tuple[Path, Path], content: bytes) -> None:
    signing.signature_path(model).write_bytes(content)
    with pytest.raises(ModelFileError, match=r"m\.xorec\.sig is not a signature of xorec"):
        Recommender.load(model, key=keys[1])


def test_keys_that_are_none(model: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    private, public = keys
    (tmp_path / "text").write_text("no key")
    for wrong in (public, tmp_path / "text"):
        with pytest.raises(OptionError, match="is no Ed25519 private key"):
            signing.sign(model, wrong)
    with pytest.raises(OptionError, match="is no Ed25519 public key"):
        Recommender.load(model, key=private)
    with pytest.raises(OptionError, match="there is no file"):
        Recommender.load(model, key=tmp_path / "nothing")


def test_a_file_that_is_not_whole_is_not_signed(model: Path, keys: tuple[Path, Path]) -> None:
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    with pytest.raises(ModelFileError, match="is corrupt"):
        signing.sign(model, keys[0])


def test_in_words(model: Path, keys: tuple[Path, Path]) -> None:
    def state() -> str:
        with storage.opened(model) as file:
            return signing.signature_state(file)

    assert state() == "none"
    signing.sign(model, keys[0])
    assert state().startswith("of the key ")
    rewrite(model, {"prior": shop().item_counts + 1})
    assert state() == "there, but not of these bytes"


def test_without_the_extra(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'xorec\[sign\]'"):
        signing.new_key(model.with_name("ann"))
