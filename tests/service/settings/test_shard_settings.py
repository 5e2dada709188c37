"""The settings of shards and of their front."""

from __future__ import annotations

from pathlib import Path

import pytest

from xorec.core.errors import OptionError
from xorec.service.settings.config import Config, revealed
from xorec.service.settings.configuring import configure
from xorec.service.settings.printing import config_text

TWO = ("http://127.0.0.1:8001", "https://b.example:8002")


def test_from_a_file_the_environment_and_flags(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(f'shards = ["{TWO[0]}", "{TWO[1]}"]\n[limits]\nshard_seconds = 0.5\n')
    made = configure(file, {}, {})
    assert made.config.shards == TWO
    assert made.config.limits.shard_seconds == 0.5
    by_variable = configure(None, {"XOREC_SERVE__SHARDS": ", ".join(TWO)}, {})
    assert by_variable.config.shards == TWO
    assert configure(None, {}, {"shards": list(TWO)}).config.shards == TWO
    assert configure(None, {}, {"shard": "2/3"}).config.shard == "2/3"
    assert Config.model_validate(revealed(made.config)).shards == TWO
    (tmp_path / "again.toml").write_text(config_text(made))
    assert configure(tmp_path / "again.toml", {}, {}).config.shards == TWO


def test_shards_of_one_file_have_a_folder_each() -> None:
    folders = {str(Config(model=Path("m.xorec"), shard=f"{n}/2").folder) for n in (1, 2)}
    assert folders == {"m.xorec.shard-1-of-2.serve", "m.xorec.shard-2-of-2.serve"}
    assert str(Config(model=Path("m.xorec")).folder) == "m.xorec.serve"
    assert str(Config(model=Path("m.xorec"), data=Path("d"), shard="1/2").folder) == "d"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("shard = '3/2'", "shards go from 1/2 to 2/2"),
        ("shard = '0/2'", "shard is '0/2'"),
        ("shard = '1:5'", "shard is '1:5'"),
        ("shards = ['127.0.0.1:8001']", "a shard is http://HOST:PORT"),
        ("shards = ['http://a/x']", "without a path or a password"),
        ("shards = ['http://u:p@a']", "without a path or a password"),
        ("shards = ['http://a:99999']", "a shard is http://HOST:PORT"),
        ("shards = ['http://a', 'http://a/']", "each shard is another server"),
        ("shard = '1/2'\nshards = ['http://a']", "a server is a shard or has shards"),
        ("shard = '1/2'\n[models]\nb = 'x'", "shards serve one model: leave out `models`"),
        ("shard = '1/2'\n[refit]\nevery_hours = 1", "leave out `refit.every_hours`"),
        ("[limits]\nshard_connections = 0", "limits.shard_connections is 0"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(OptionError, match=line.replace("[", "\\[")):
        configure(file, {}, {})
