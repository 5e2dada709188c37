"""The README's Python lines and command lines work as printed, and do what they say."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from xorec.models.factorization.bpr import BPR
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted

pytestmark = pytest.mark.docs

README = (Path(__file__).parent.parent / "README.md").read_text()


DATA = planted(60, 110, per_user=12)


def new_item() -> int:
    """An item that others have and the first user has not."""
    own = set(DATA.of_user(0).tolist())
    return next(item for item in range(110) if item not in own and item in DATA.indices)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files that the README speaks of."""
    monkeypatch.chdir(tmp_path)
    pairs = zip(DATA.user_rows, DATA.indices, strict=True)
    rows = [f"{4711 + user},{item}" for user, item in pairs]
    Path("ratings.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    Path("new-ratings.csv").write_text(f"user,item\n4711,{new_item()}\n")


def own_items(shop: Recommender, user: int) -> set[int]:
    return set(shop.item_ids.take(shop.items_of(shop.user_row(user))))


def test_the_python_lines(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    made: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), made)
    shop, lists, parts = Recommender.load("shop.xorec"), made["lists"], made["parts"]
    assert shop.metadata["config"]["dimensions"] == 64
    assert own_items(shop, 4711) == set(parts.train.items.take(parts.train.of_user(0)))
    assert [best.query for best in lists] == [4711, 4712]
    assert all(
        len(best) == 10 and not {*best.ids()} & own_items(shop, best.query) for best in lists
    )
    value, interval = made["result"]["ndcg@10"], made["result"].interval("ndcg@10")
    assert 0 < interval.low < value < interval.high
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{value} {interval}"
    assert printed[1:] == str(shop.recommend(4711, k=10)).splitlines()


def listed(output: str) -> list[int]:
    """The second column of a table: the items of a list."""
    rows = [line.split() for line in output.splitlines()]
    return [int(row[1]) for row in rows if len(row) > 2 and all(map(str.isdigit, row[:2]))]


def check_fit(output: str) -> None:
    shop = Recommender.load("shop.xorec")
    assert shop.metadata["codes"]["bits"] == 64
    assert shop.metadata["data"]["pairs"] == 60 * 12
    assert output.startswith("shop.xorec: dsiml, ")


def check_recommend(output: str) -> None:
    shop = Recommender.load("shop.xorec")
    assert listed(output) == shop.recommend(4711, 10).ids()
    assert not {*listed(output)} & own_items(shop, 4711)


def check_somebody_new(output: str) -> None:
    assert listed(output) == Recommender.load("shop.xorec").recommend_for([12, 77, 103], 10).ids()
    assert not {*listed(output)} & {12, 77, 103}


def check_race(output: str) -> None:
    race = Recommender.load("shop.xorec").metadata["race"]
    assert [row["model"] for row in race["rows"]] == ["popularity", "slim"]
    assert " ".join(race["why"].split()) in " ".join(output.split())


def check_target(output: str) -> None:
    small = Recommender.load("small.xorec")
    assert small.representation.item_nbytes <= 17 * len(small.item_ids)
    assert "at most 16 bytes an item" in output


def check_everybody(output: str) -> None:
    shop, frame = Recommender.load("shop.xorec"), pl.read_parquet("recs.parquet")
    one = frame.filter(pl.col("user") == 4712)
    assert one["item"].to_list() == shop.recommend(4712, 100).ids()
    assert frame["user"].n_unique() == 60
    assert f"60 lists, {len(frame):,} rows" in output


def check_similar(output: str) -> None:
    assert listed(output) == Recommender.load("shop.xorec").similar(12).ids()


def check_explain(output: str) -> None:
    why = Recommender.load("shop.xorec").explain(4711, 12)
    place = "has it already" if why.rank is None else f"place {why.rank:,} of the list"
    assert f"4711 and 12: {place}." in output
    assert f"{why.bits_agreed} of 64 bits agree, {why.distance} differ." in output
    assert listed(output) == [one.id for one in why.because]


def check_compare(output: str) -> None:
    lines = [line.split() for line in output.splitlines()]
    labels = [" ".join(line[:2]) for line in lines if line and line[0].startswith("dsiml")]
    assert labels == ["dsiml 20", "dsiml 64", "dsiml 20", "dsiml 64"]
    assert output.count("shortlist=200") == 2
    assert [line[0] for line in lines if line and line[0] == "bpr"] == ["bpr"]
    assert output.count("best") == 1


def check_tune(output: str) -> None:
    written = Path("best.toml").read_text()
    assert output.rstrip().endswith(written.rstrip())
    assert tomllib.loads(written)["siml"]["epochs"] == 2


def check_evaluate(output: str) -> None:
    assert "shop.xorec: dsiml, 1 users tested" in output
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.split()}
    rank = Recommender.load("shop.xorec").explain(4711, new_item()).rank
    assert rank is not None
    hit = [float(rank <= k) for k in (10, 20, 50, 100)]
    assert [float(cell) for cell in rows["recall"]] == hit


def check_update(output: str) -> None:
    assert "shop.xorec: 0 new users, 0 new items, 1 new pairs." in output
    shop = Recommender.load("shop.xorec")
    assert new_item() in own_items(shop, 4711)
    assert new_item() not in shop.recommend(4711, 110).ids()


def check_data(output: str) -> None:
    assert "comes with xorec" in output
    assert all(name in output for name in ("debian", "ml-1m"))


def check_models(output: str) -> None:
    for setting, field in BPR.Config.model_fields.items():
        assert re.search(rf"(?m)^\s*{setting}\s+{field.default}\b", output), setting


def check_bench(output: str) -> None:
    assert "2,000 items x 64 bits" in output
    assert "xorec equals brute force on 50 queries, ties and all." in output


def check_doctor(output: str) -> None:
    assert "verified)" in output
    assert re.search(r"(?m)^\s*bits\s+64\b", output)


def check_map(output: str) -> None:
    shop = Recommender.load("shop.xorec")
    assert shop.map_xy is not None
    assert shop.map_xy.shape == (len(shop.item_ids), 2)
    assert output.startswith("shop.xorec: ")


def check_export(output: str) -> None:
    shop = Recommender.load("shop.xorec")
    assert f"shop.duckdb: {len(shop.item_ids)} items, 60 users, " in output
    assert "64-bit codes; the store ranks by Hamming distance" in output


def check_plan(output: str) -> None:
    assert "engine spark:local[2]: 2 slots" in output
    assert "It fits." in output


CHECKS: dict[str, Callable[[str], None]] = {
    "fit ratings.csv -o": check_race,
    "fit ratings.csv --target": check_target,
    "fit ratings.csv --model": check_fit,
    "recommend shop.xorec --user": check_recommend,
    "recommend shop.xorec --items": check_somebody_new,
    "recommend shop.xorec --all-users": check_everybody,
    "similar": check_similar,
    "explain": check_explain,
    "compare": check_compare,
    "tune": check_tune,
    "evaluate": check_evaluate,
    "update": check_update,
    "map": check_map,
    "data list": check_data,
    "models bpr": check_models,
    "bench search": check_bench,
    "doctor": check_doctor,
    "export": check_export,
    "recommend shop.duckdb --user": check_recommend,
    "plan": check_plan,
}
"""What each line must have printed and done, in the README's order; how it begins."""


def test_the_command_lines() -> None:
    from xorec.cli.main import app

    # tests/service/ has `serve`, tests/engines/ clusters; tests/test_code_blocks.py looks at both
    lines = re.findall(r"(?m)^xorec (?!serve )(?!.*spark://).*$", README)
    for line, (begins, check) in zip(lines, CHECKS.items(), strict=True):
        assert line.startswith(f"xorec {begins}")
        words = shlex.split(line, comments=True)[1:]
        if words[0] == "bench":  # as written it takes minutes
            words += ["--items", "2000", "--repeats", "1", "--quiet"]
        if words[0] == "fit" and "--model" not in words:
            words += ["--trials", "2"]
        if words[0] == "tune":
            words += ["--trials", "2", "--epochs", "2"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        check(result.stdout)
