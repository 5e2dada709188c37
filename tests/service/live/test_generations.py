from __future__ import annotations

from pathlib import Path

import pytest

from xorec.core.errors import UnknownIdError
from xorec.recommender.recommender import Recommender
from xorec.service.live.generations import Generations
from xorec.testing.examples import shop


def test_import_takes_a_file_once_and_a_new_one_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.xorec"
    shop().save(path)
    folder = Generations(tmp_path / "models")
    assert folder.current() is None
    assert folder.import_file(path) == folder.current() == 1
    assert folder.import_file(path) is None
    shop().update([("eve", "tea")]).save(path)
    assert folder.import_file(path) == folder.current() == 2
    assert folder.describe(2).users == 5
    assert folder.describe(1).users == 4  # the first is a copy, not a link


def test_numbers_never_come_twice_and_a_missing_current_is_the_newest(tmp_path: Path) -> None:
    folder = Generations(tmp_path)
    first = folder.publish(shop(), "update", 7, erased_seq=5)
    second = folder.publish(shop(), "refit", 9)
    about = folder.describe(first)
    assert (about.applied_seq, about.erased_seq, about.source) == (7, 5, "update")
    folder.activate(second)
    folder.path(second).unlink()
    assert folder.current() == first
    assert folder.publish(shop(), "update", 11) == second + 1
    with pytest.raises(UnknownIdError, match="there are 1, 3"):
        folder.activate(second)
    (tmp_path / "CURRENT").write_text("no number")
    assert folder.current() == 3


def test_old_ones_go_but_none_that_is_served(tmp_path: Path) -> None:
    folder = Generations(tmp_path)
    for seq in range(6):
        folder.publish(shop(), "update", seq)
    folder.activate(2)
    (tmp_path / ".00000009.xorec.0a0b0c0d.tmp").touch()
    assert folder.remove_old(keep=2, served={3}) == [1, 4]
    assert folder.numbers() == [2, 3, 5, 6]
    folder.remove_leftovers()
    assert not list(tmp_path.glob(".*.tmp"))
    assert len(Recommender.load(folder.path(6)).user_ids) == 4
