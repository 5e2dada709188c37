"""What options become: nothing that was given is dropped on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from xorec.cli import arguments as args
from xorec.cli.arguments import bundled, without
from xorec.cli.fit import HoldOut
from xorec.cli.output import show_bytes
from xorec.cli.reproduce import Experiments, _plan
from xorec.cli.settings import _given
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.data.ids import Ids
from xorec.data.interactions import TEST, TRAIN, Interactions
from xorec.data.split import Split, split
from xorec.selection.model_specs import merged, setting_of
from xorec.testing.data import planted

PAIRS = planted(40, 30)


def digests(parts: Split) -> list[str | None]:
    three = (parts.train, parts.validation, parts.test)
    return [None if part is None else part.digest() for part in three]


def test_a_run_has_the_seed_the_threads_and_the_silence_that_were_given() -> None:
    options = args.Run(seed=5, threads=3, quiet=True).options()
    assert (options.seed, options.threads, options.progress) == (5, 3, SILENT)


@pytest.mark.parametrize("method", ["random", "per-user"])
def test_a_split_is_the_one_that_was_asked_for(method: Any) -> None:
    choice = args.SplitChoice(split=method, test=0.3, validation=0.2)
    expected = split(PAIRS, method=method, test=0.3, validation=0.2, seed=7)
    assert digests(choice.parts(PAIRS, RunOptions(seed=7))) == digests(expected)


def test_every_column_that_was_given_is_passed_on() -> None:
    given: dict[str, Any] = {
        **{"user_column": "u", "item_column": "i", "rating_column": "r", "time_column": "t"},
        **{"split_column": "s", "item_info": Path("info.csv")},
    }
    assert args.ColumnOptions(**given).given() == given
    assert args.ColumnOptions(item_column="i").given() == {"item_column": "i"}


def test_lists_of_ids_numbers_and_names() -> None:
    assert args.parse_ids(Ids("int64", np.array([7, 12, 103])), " 12, 103 ,,7") == [12, 103, 7]
    drinks = Interactions.from_pairs([("ann", "tea"), ("ann", "oat milk")]).items
    assert args.parse_ids(drinks, " tea , oat milk") == ["tea", "oat milk"]
    quotes = ' "SKU 40, large" ,tea, "a ""b""" ,5" disk,3" to 5","tea" or "rye","tea'
    plain = ['5" disk', '3" to 5"', '"tea" or "rye"', '"tea']
    assert args.parse_ids(drinks, quotes) == ["SKU 40, large", "tea", 'a "b"', *plain]
    assert args.parse_ids(drinks, "a\nb,c\t,") == ["a\nb", "c"]
    assert args.parse_counts("20,100,5", "--ks", "10") == (20, 100, 5)
    assert args.parse_names("bpr, siml") == ("bpr", "siml")


def test_settings_of_a_model() -> None:
    words = ["--learning-rate", "0.1", "--epochs=20", "--form", "npair", "--norms", "ball"]
    found: dict[str, Any] = {}
    for name, value in _given(words):
        found = merged(found, setting_of(name, value))
    assert found == {"learning_rate": 0.1, "epochs": 20, "form": "npair", "norms": "ball"}
    assert setting_of("asymmetric", "true") == {"asymmetric": True}


@pytest.mark.parametrize("seed", [0, 4])
def test_fit_validates_on_a_part_drawn_by_the_seed(seed: int) -> None:
    options = RunOptions(seed=seed)
    assert HoldOut().held_out(PAIRS, options) == (PAIRS, None, None)
    train, held_out, _ = HoldOut(validation=0.2).held_out(PAIRS, options)
    parts = split(PAIRS, method="random", test=0.2, seed=seed)
    assert held_out is not None
    assert (train.digest(), held_out.digest()) == (parts.train.digest(), parts.test.digest())


@pytest.mark.parametrize("validation", [0.0, 0.25])
def test_fit_leaves_the_test_part_out_and_validates_on_some_of_the_rest(validation: float) -> None:
    given = np.where(np.arange(PAIRS.n_pairs) % 4 == 0, TEST, TRAIN).astype(np.int8)
    data = replace(PAIRS, parts=given)
    hold_out = HoldOut(validation=validation)
    train, held_out, parts = hold_out.held_out(data, RunOptions(seed=3))
    assert parts is not None
    assert parts.test.n_pairs == np.count_nonzero(given == TEST)
    learned: list[Interactions] = [train] if held_out is None else [train, held_out]
    assert (held_out is None) == (validation == 0.0)
    assert sum(part.n_pairs for part in learned) == np.count_nonzero(given == TRAIN)
    if held_out is not None:
        assert held_out.n_pairs == pytest.approx(0.25 * np.count_nonzero(given == TRAIN), rel=0.2)


def test_seeds_cores_and_lengths_reach_the_plan() -> None:
    many = Experiments(question="rq1", seeds=3, trials=4, bits="16,24", grid_seeds=2)
    plan = _plan(many, 5, many.sources(3.0, {"user_column": "u"}), many.fields(5))
    assert (plan.seeds, plan.seed, plan.trials) == ((5, 6, 7), 5, 4)
    assert (plan.bits, plan.grid_seeds, plan.questions) == ((16, 24), 2, ("rq1",))
    assert [(one.min_rating, one.columns) for one in plan.data] == [(3.0, {"user_column": "u"})]
    plain = Experiments(question="all", quick=True)
    every = _plan(plain, 5, plain.sources(None, {}), plain.fields(5))
    assert (every.seeds, every.questions) == ((5, 6), ("rq1", "rq2", "rq3", "rq4", "rq5"))
    two = Experiments(question="rq1", data=["a", "b"], core=[2, 3])
    assert [(one["path"], one["core"]) for one in two.sources(None, {})] == [("a", 2), ("b", 3)]
    one_core = Experiments(question="rq1", data=["a", "b"], core=[2])
    assert [one["core"] for one in one_core.sources(None, {})] == [2, 2]


def test_sizes_are_in_thousands() -> None:
    assert [show_bytes(count) for count in (999, 1000, 1234567, 10**9, 25 * 10**11)] == [
        "999 B",
        "1.0 kB",
        "1.2 MB",
        "1.0 GB",
        "2.5 TB",
    ]


def test_an_address_for_spark_is_kept_without_its_secrets() -> None:
    address = "jdbc:postgresql://h/shop?user=ann&password=s3cret&table=orders"
    source = args.DataSource(data=address)
    assert source.name == "jdbc:postgresql://h/shop?user=ann&password=***, table orders"
    assert source.provenance == {"source": source.name}
    assert source.label == "orders"
    assert args.DataSource(data="spark-table:shop.orders").name == "spark-table:shop.orders"


@dataclass(frozen=True, kw_only=True)
class Size:
    """A bundle."""

    name: Annotated[str, typer.Argument(help="What it is called.")]
    width: Annotated[int, typer.Option(help="From left to right.")] = 3
    depth: Annotated[int | None, typer.Option(help="From front to back.")] = None


@pytest.fixture
def app() -> tuple[typer.Typer, list[Any]]:
    calls: list[Any] = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @bundled
    def box(
        first: Annotated[str, typer.Argument()],
        size: Annotated[Size, without("depth")],
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> None:
        """Make a box."""
        calls.append((first, size, loud))

    return app, calls


def test_the_command_gets_the_bundle(app: tuple[typer.Typer, list[Any]]) -> None:
    run, calls = CliRunner(), app[1]
    assert run.invoke(app[0], ["a", "b", "--width", "7", "--loud"]).exit_code == 0
    assert run.invoke(app[0], ["a", "b"]).exit_code == 0
    assert calls == [("a", Size(name="b", width=7), True), ("a", Size(name="b"), False)]


def test_what_is_left_out_is_no_option(app: tuple[typer.Typer, list[Any]]) -> None:
    page = CliRunner().invoke(app[0], ["--help"]).output
    assert page.upper().index("FIRST") < page.upper().index("NAME")
    assert page.index("--width") < page.index("--loud")
    assert "From left to right." in page
    assert "--depth" not in page
    assert CliRunner().invoke(app[0], ["a", "b", "--depth", "1"]).exit_code == 2
