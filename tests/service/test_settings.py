from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from xorec.core.errors import OptionError
from xorec.service.config import Config, revealed
from xorec.service.settings import MASK, config_text, configure

KEY = "0123456789abcdef"


def test_flags_beat_the_environment_that_beats_the_file_that_beats_the_defaults(
    tmp_path: Path,
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("port = 1\nworkers = 1\nthreads = 1\n[limits]\nk = 1\nbatch = 1\n")
    environment = {"XOREC_SERVE__PORT": "2", "XOREC_SERVE__LIMITS__K": "2", "PATH": "x"}
    environment["XOREC_SERVE__WORKERS"] = "2"
    made = configure(file, environment, {"port": 3, "workers": None})
    config = made.config
    assert (config.port, config.workers, config.threads) == (3, 2, 1)
    assert (config.limits.k, config.limits.batch, config.limits.concurrent) == (2, 1, 64)
    assert made.sources[("port",)] == "the command line"
    assert made.sources[("limits", "k")] == "XOREC_SERVE__LIMITS__K"
    assert made.sources[("limits", "batch")] == str(file)
    assert ("limits", "concurrent") not in made.sources


@pytest.mark.parametrize(
    ("text", "environment", "line"),
    [
        ("prot = 1", {}, "unknown setting 'prot'. Did you mean 'port'?"),
        ("[limits]\nbodybytes = 1", {}, "Did you mean 'limits.body_bytes'?"),
        ("", {"XOREC_SERVE__LIMIT__K": "1"}, "Did you mean 'XOREC_SERVE__LIMITS__K'?"),
        ("port = 'x'", {}, "port is 'x'"),
        ("port = 70000", {}, "less than or equal to 65535"),
        ("", {"XOREC_SERVE__WORKERS": "0"}, "workers is '0' (XOREC_SERVE__WORKERS)"),
        ("host = '0.0.0.0'", {}, "0.0.0.0 can be reached from outside: set keys"),
        ("host = 'shop.example'", {}, "can be reached from outside"),
        ("[models]\ndefault = 'x'", {}, "choose another name"),
        ("port = ", {}, "are no TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_source(
    tmp_path: Path, text: str, environment: dict[str, str], line: str
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(OptionError) as raised:
        configure(file, environment, {})
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_alone_needs_no_keys(host: str) -> None:
    assert Config(host=host).is_loopback


def test_a_public_address_with_keys_is_served() -> None:
    made = configure(None, {"XOREC_SERVE__KEYS__ADMIN": KEY}, {"host": "0.0.0.0"})
    assert made.config.keys.given


def test_two_keys_stand_with_a_comma_and_a_third_is_refused() -> None:
    two = configure(None, {"XOREC_SERVE__KEYS__READ": f"{KEY}1, {KEY}2"}, {}).config.keys.read
    assert [one.get_secret_value() for one in two] == [f"{KEY}1", f"{KEY}2"]
    with pytest.raises(OptionError):
        configure(None, {"XOREC_SERVE__KEYS__READ": ",".join([KEY] * 3)}, {})


@pytest.mark.parametrize("bad", ["short", "with\u00fcmlaut-and-more", "a" * 3])
def test_the_line_of_a_bad_key_does_not_show_it(bad: str) -> None:
    with pytest.raises(OptionError) as raised:
        configure(None, {"XOREC_SERVE__KEYS__READ": f"{KEY},{bad}"}, {})
    assert bad not in str(raised.value)
    assert KEY not in str(raised.value)


def test_what_is_printed_is_toml_that_gives_the_same_but_for_keys(tmp_path: Path) -> None:
    flags: dict[str, Any] = {"port": 9000, "model": Path("shop.xorec")}
    environment = {"XOREC_SERVE__KEYS__ADMIN": f"{KEY},{KEY}2", "XOREC_SERVE__MODELS__b": "b.xorec"}
    made = configure(None, environment, flags)
    text = config_text(made)
    assert KEY not in text
    assert "port = 9000  # the command line" in text.splitlines()
    assert "k = 1000  # default" in text.splitlines()
    read = tomllib.loads(text)
    assert read["keys"]["admin"] == [MASK, MASK]
    file = tmp_path / "again.toml"
    file.write_text(text.replace(f'["{MASK}", "{MASK}"]', f'["{KEY}", "{KEY}2"]'))
    again = configure(file, {}, {}).config
    expected = made.config.model_copy(
        update={"model": tmp_path / "shop.xorec", "models": {"b": tmp_path / "b.xorec"}}
    )
    assert again == expected


def test_paths_of_a_file_are_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("model = 'shop.xorec'\ndata = '/var/shop'\n")
    config = configure(file, {}, {}).config
    assert config.model == tmp_path / "shop.xorec"
    assert config.folder == Path("/var/shop")


def test_a_worker_gets_the_same_settings_keys_and_all() -> None:
    config = Config(keys={"read": KEY}, port=9)  # type: ignore[arg-type]
    assert Config.model_validate(revealed(config)) == config
    assert KEY not in repr(config)


def test_shards_are_refused_with_what_to_do() -> None:
    with pytest.raises(OptionError, match=r"'XOREC_SERVE__SHARDS': shards are gone.*docs/scale"):
        configure(None, {"XOREC_SERVE__SHARDS": "http://b:8001"}, {})
