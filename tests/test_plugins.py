"""examples/plugin/: its model, store and engine are found by their entry points, and work."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from xorec.cli.main import app
from xorec.core.errors import OptionError
from xorec.models import MODELS, model_class, model_names
from xorec.recommender.recommender import Recommender
from xorec.stores.registry import open_store, store_address
from xorec.testing.data import planted

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"
GUIDE = PLUGIN.parent.parent / "docs" / "guide" / "plugins.md"
DATA = planted(60, 50, per_user=8)


def install(folder: Path, name: str, points: dict[str, dict[str, str]]) -> None:
    """What pip leaves of a package, without pip."""
    about = folder / f"{name}-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    groups = (
        f"[{group}]\n" + "\n".join(f"{key} = {value}" for key, value in entries.items())
        for group, entries in points.items()
    )
    (about / "entry_points.txt").write_text("\n\n".join(groups) + "\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The example, as installed; in a folder with ratings.csv."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    (tmp_path / "site").mkdir()
    install(tmp_path / "site", project["name"], project["entry-points"])
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend(PLUGIN / "src")
    monkeypatch.chdir(tmp_path)
    rows = zip(DATA.user_rows, DATA.indices, strict=True)
    Path("ratings.csv").write_text("user,item\n" + "".join(f"u{u},{i}\n" for u, i in rows))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("xorec_example")]:
        del sys.modules[name]


def run(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_guide_shows_the_entry_points_of_the_example() -> None:
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    shown = GUIDE.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    assert tomllib.loads(shown)["project"]["entry-points"] == project["entry-points"]


def test_a_model_is_fitted_listed_saved_and_loaded(installed: Path) -> None:
    assert "xorec_example" not in sys.modules
    assert "pure-svd" in run("models")
    run("fit", "ratings.csv", "--model", "pure-svd", "--dimensions", "6", "-o", "shop.xorec", "-q")
    shop = Recommender.load("shop.xorec")
    assert shop.metadata["model"] == "pure-svd"
    model = model_class("pure-svd")(dimensions=6).fit("ratings.csv")
    again = Recommender.from_model(model, "ratings.csv")
    assert shop.recommend("u3").ids() == again.recommend("u3").ids()
    own = shop.item_ids.take(shop.items_of(shop.user_row("u3")))
    assert shop.recommend_for(own).ids() == shop.recommend("u3").ids()


def test_without_the_package_the_model_is_unknown(installed: Path) -> None:
    assert model_names()[-1] == "pure-svd"
    sys.path.remove(str(installed / "site"))
    assert model_names() == list(MODELS)
    with pytest.raises(OptionError, match="there is no model 'pure-svd'"):
        model_class("pure-svd")


@pytest.mark.parametrize("address", ["codes.hex", "hex://codes.hex"])
def test_a_store_takes_an_export_and_answers(installed: Path, address: str) -> None:
    run("fit", "ratings.csv", "--model", "signs", "--bits", "64", "-o", "shop.xorec", "-q")
    run("export", "shop.xorec", "--to", address, "--users", "-q")
    shop = Recommender.load("shop.xorec")
    lines = Path("codes.hex").read_text().split()
    assert [int(line, 16) for line in lines] == np.asarray(shop.item_codes)[:, 0].tolist()
    with open_store(address) as store:
        assert store.recommend("u3", 10).ids() == shop.recommend("u3", 10).ids()


def test_an_engine_runs_the_blocks_and_gives_the_same_bytes(installed: Path) -> None:
    words = ["fit", "ratings.csv", "--model", "als", "--epochs", "2", "--dimensions", "4"]
    said = run(*words, "-o", "there.xorec", "--engine", "counted:2")
    assert "counted:2: " in said
    assert "counted:2: 0 blocks" not in said
    run(*words, "-o", "here.xorec", "-q")
    assert Path("there.xorec").read_bytes() == Path("here.xorec").read_bytes()


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("no_such_module:Thing", "'odd' of odd-package cannot be loaded: ModuleNotFoundError"),
        ("xorec_example.pure_svd:PureSVD", "'odd' of odd-package is no model of this name"),
    ],
)
def test_a_plugin_that_is_wrong_is_one_line(installed: Path, point: str, said: str) -> None:
    install(installed / "site", "odd-package", {"xorec.models": {"odd": point}})
    with pytest.raises(OptionError, match=said):
        model_class("odd")


def test_what_is_ours_is_not_replaced(installed: Path) -> None:
    point = "xorec_example.pure_svd:PureSVD"
    taken = {"xorec.models": {"bpr": point}, "xorec.stores": {"npy": point, "xorec": point}}
    install(installed / "site", "greedy", taken)
    assert model_class("bpr").__module__ == "xorec.models.factorization.bpr"
    assert model_names().count("bpr") == 1
    assert type(open_store("codes.npy")).__module__ == "xorec.stores.code_files"
    assert store_address("shop.xorec") is None
