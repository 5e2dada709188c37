"""How settings are chosen: by `xorec tune`, and by a race where `fit` is given no model."""

from __future__ import annotations

import json
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.holding import held_command
from xorec.cli.output import show_bytes
from xorec.cli.settings import read_config
from xorec.cli.tune import settings_file
from xorec.data.split import Split
from xorec.recommender.recommender import Recommender
from xorec.selection.tuning.tuning import Trial, Tuned

from .conftest import Run, refused, width_of
from .test_processes import XOREC

KNN = ("--model", "item-knn", "--trials")


def test_from_data_to_a_file_that_fit_and_compare_take(run: Run, tmp_path: Path) -> None:
    best = tmp_path / "best.toml"
    words = ("--model", "bpr", "--trials", 2, "--epochs", 2, "--dimensions", 8, "-q")
    answer = run.json("tune", "debian", *words, "-o", best)
    assert [row["state"] for row in answer["rows"]] == ["complete"] * 2
    assert answer["rows"][0]["value"] == answer["best"]["value"]
    assert answer["rows"][0]["value"] >= answer["rows"][1]["value"]
    assert Path(answer["study"]) == tmp_path / "best.toml.study"
    settings = answer["best"]["settings"]
    assert read_config(best) == {"bpr": settings}
    assert (settings["epochs"], settings["dimensions"]) == (2, 8)
    out = tmp_path / "m.xorec"
    run.ok("fit", "debian", "--model", "bpr", "--config", best, "-o", out, "-q")
    assert settings.items() <= Recommender.load(out).metadata["config"].items()
    compared = run.json("compare", "debian", "--models", "bpr", "--config", best)
    assert compared["rows"][0]["dimensions"] == 8


def test_the_same_command_goes_on(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = run.json("tune", ratings, *KNN, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["item-knn.study"]
    more = run.json("tune", ratings, *KNN, 8)
    assert len(more["rows"]) == 8
    assert all(row in more["rows"] for row in first["rows"])
    refused(run("tune", ratings, *KNN, 8, "--seed", 1, "-q"), "item-knn.study", "seed", "--study")


def test_trials_at_once_are_refused_below_one(run: Run, ratings: Path, tmp_path: Path) -> None:
    words = ("tune", ratings, *KNN, 2, "--study", tmp_path / "s", "-q", "--at-once")
    refused(run(*words, 0), "at_once is 0")
    run.ok(*words, 2)
    refused(run(*words, 1), "at_once differ")


def test_options_reach_the_trials(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def trials(model: str, parts: Split, **how: Any) -> Tuned:
        asked.append({**how, "parts": parts.describe()})
        done = [Trial(n, "complete", v, 2, 1.0, {}, {}) for n, v in enumerate((0.1, 0.3, 0.2))]
        return Tuned(model, how["metric"], {}, done)

    monkeypatch.setattr("xorec.selection.tuning.tuning.tune", trials)
    words = ("--metric", "recall@7", "--no-prune", "--timeout", 60, "--seed", 4, "--study", "s")
    answer = run.json("tune", ratings, *KNN, 3, *words, "--shrink", 2.5)
    assert [row["number"] for row in answer["rows"]] == [1, 2, 0], "the best first"
    (how,) = asked
    wanted = {"trials": 3, "metric": "recall@7", "prune": False, "timeout": 60}
    assert wanted.items() <= how.items()
    assert (how["fixed"], how["study"], how["options"].seed) == ({"shrink": 2.5}, Path("s"), 4)
    assert how["parts"]["seed"] == 4


@pytest.mark.process
def test_ctrl_c_and_kill_9_lose_no_finished_trial(ratings: Path, tmp_path: Path) -> None:
    words = ("--model", "bpr", "--trials", 6, "--epochs", 500, "--dimensions", 8, "--json", "-q")

    def own(study: str) -> list[str]:
        return [str(word) for word in ("tune", ratings, *words, "--study", tmp_path / study)]

    def start(study: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*XOREC, *own(study)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        )  # fmt: skip

    def held_after(count: int) -> subprocess.Popen[str]:
        """Stands still when so many trials have come to their end."""
        path, end = tmp_path / "broken", '{"op_code":4'
        return held_command(own("broken"), path, count=count, text=end, cwd=tmp_path)

    whole = json.loads(start("whole").communicate(timeout=300)[0])["rows"]
    process = held_after(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Run the same command again to go on." in errors
    process = held_after(3)
    process.kill()
    process.communicate(timeout=120)
    again = json.loads(start("broken").communicate(timeout=300)[0])["rows"]
    assert [{**row, "seconds": 0} for row in again] == [{**row, "seconds": 0} for row in whole]


def test_the_table_fits_80_columns_and_ends_with_the_settings(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    words = ("--model", "bpr", "--trials", 3, "--epochs", 2, "-q", "--study", tmp_path / "s")
    result = run.ok("tune", ratings, *words)
    assert width_of(result.stdout) <= 80
    table, _, toml = result.stdout.partition("# trial")
    assert "ndcg@20" in table
    assert "bpr" in tomllib.loads("#" + toml)
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_settings_of_every_kind_are_written(tmp_path: Path) -> None:
    fixed = {"bits": 16, "solver": 'a "b"', "none": None, "start": {"epochs": 4, "gamma": 1e-07}}
    trial = Trial(7, "complete", 0.25, 12, 1.0, {"distill_weight": 4.0, "asymmetric": True}, {})
    text = settings_file(Tuned("dsiml", "ndcg@20", fixed, [trial]))
    assert text.startswith("# trial 7 of 1: validation ndcg@20 0.2500, epoch 12\n[dsiml]\n")
    del fixed["none"]
    assert tomllib.loads(text) == {"dsiml": {**fixed, "distill_weight": 4.0, "asymmetric": True}}


def test_bad_requests_leave_no_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    data = tmp_path / "no.csv"
    refused(run("tune", data, "--model", "bpr", "--epoch", 3, "-q"), "'epoch'", "epochs")
    refused(run("tune", data, "--model", "bpr", "--metric", "mse@3", "-q"), "mse@3", "ndcg")
    study = ("--study", tmp_path / "s")
    refused(run("tune", ratings, *KNN, 1, "--validation", 0, *study, "-q"), "--validation")
    assert list(tmp_path.iterdir()) == []


def test_without_a_model_recipes_race(run: Run, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.xorec"
    result = run.ok("fit", ratings, "--trials", 2, "-o", out)
    assert "tried" in result.stdout
    assert "bytes/item" in result.stdout
    why = Recommender.load(out).metadata["race"]["why"]
    assert result.output.count(f"taken: {why}.") == 1
    assert result.output.count(why.split(":", 1)[1]) == 1
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "m.xorec" not in line)
    assert "more: with --json" not in result.stdout


def test_of_many_trials_few_are_shown(run: Run, ratings: Path, tmp_path: Path) -> None:
    """The one that was taken first, five others, the baseline; the rest is counted."""
    out = tmp_path / "m.xorec"
    result = run.ok("fit", ratings, "--target", "bytes=9", "--trials", 11, "-q", "-o", out)
    table = result.stdout.partition("taken: ")[0].splitlines()
    assert table[2].rstrip().endswith("taken")
    models = [line.split()[0] for line in table[2:] if line[:1].isalpha() and "0." in line]
    assert len(models) == 7
    assert models.count("popularity") == 1
    assert '4 more: with --json, or metadata["race"]["rows"] of the file.' in result.stdout
    assert len(Recommender.load(out).metadata["race"]["rows"]) == 11


def test_fit_tells_the_size_of_the_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.xorec"
    result = run("fit", ratings, "--model", "popularity", "-q", "-o", out)
    assert f"{out}: popularity, {show_bytes(out.stat().st_size)}, " in result.stdout
    (row,) = run.json("fit", ratings, "--model", "popularity", "-o", out)["rows"]
    assert row["file_bytes"] == out.stat().st_size


def test_equal_trials_give_equal_files(run: Run, ratings: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        words = ("--trials", 2, "--threads", 1 + (name == "b"), "-q", "-o", tmp_path / name)
        run.ok("fit", ratings, *words)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epochs", 3), "--epochs is no option of fit without a model"),
        (("--trials", 2, "--budget", 1), "not both"),
        (("--target", "bits=3"), "give ndcg, bytes=16 or us=50"),
        (("--model", "bpr", "--trials", 2), "leave out --model bpr"),
        (("--model", "bpr", "--target", "us=5"), "--target is for finding"),
        (("--budget", 0), "budget is 0"),
    ],
)
def test_what_does_not_go_together(
    run: Run, ratings: Path, tmp_path: Path, words: tuple[Any, ...], said: str
) -> None:
    refused(run("fit", ratings, *words, "-o", tmp_path / "m", "-q"), said)
