"""Mistakes in names: one line of ours, with what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run
from .test_errors import refused


@pytest.mark.parametrize(("wrong", "right"), [("SIML", "siml"), ("dsmil", "dsiml")])
def test_models(run: Run, ratings: Path, tmp_path: Path, wrong: str, right: str) -> None:
    meant = f"Did you mean '{right}'?"
    refused(run("fit", ratings, "--model", wrong, "-o", tmp_path / "m"), f"'{wrong}'", meant)
    refused(run("compare", ratings, "--models", f"bpr,{wrong}", "-q"), f"'{wrong}'", meant)
    refused(run("tune", ratings, "--model", wrong, "-q"), f"'{wrong}'", meant)
    refused(run("models", wrong), f"'{wrong}'", meant)


def test_settings_and_options(run: Run, ratings: Path, model: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "m", "-q")
    refused(run("fit", ratings, "--model", "bpr", "--dims", 8, *words), "'--dimensions'?")
    refused(run("fit", ratings, "--model", "bpr", "--lr", 0.1, *words), "'--learning-rate'?")
    refused(run("fit", ratings, "--min-ratng", 4, *words), "'--min-rating'?")
    refused(run("compare", ratings, "--model", "bpr"), "'--models'?")
    refused(run("recommend", model, "--usr", "u7"), "no option --usr", "'--user'?")
    refused(run("--versoin"), "no option --versoin", "'--version'?")
    refused(run("compare", ratings, "--split", "randm"), "'random'?")
    refused(run("compare", ratings, "--metrics", "recal@20"), "'recall'?")


def test_what_typer_refuses_is_one_line_too(run: Run, ratings: Path, model: Path) -> None:
    for words in (
        ("fitt", ratings),
        ("fit",),
        ("compare", ratings, "--seed", "x"),
        ("recommend", model, "-k"),
        ("data", "inf"),
    ):
        result = run(*words)
        refused(result, "--help")
        assert len(result.stderr.splitlines()) == 1
    assert "Usage" in run("data").output


def test_a_user_and_items_are_not_given_at_once(run: Run, model: Path) -> None:
    both = ("--user", "u7", "--items", "1003")
    refused(run("recommend", model, *both), "give --user or --items, not both")
    refused(run("explain", model, *both, "--item", 1008), "give --user or --items, not both")
    refused(run("similar", model, "--user", "u7", "--item", 1003), "not both")


def test_a_folder_that_is_made_is_told(run: Run, model: Path, tmp_path: Path) -> None:
    lists = tmp_path / "new" / "lists.csv"
    made = run("recommend", model, "--all-users", "-o", lists)
    assert f"created the folder {lists.parent}\n" in made.stderr
    assert "created" not in run("recommend", model, "--all-users", "-o", lists).stderr
