"""Generations, refits behind the gate, experiments, snapshots, figures for the page."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xorec
from tests.support.planted_shop import DATA, USER, item_knn, taste
from tests.support.service_in_process import Served, served
from tests.support.waiting import PATIENCE, until
from xorec.core.errors import DataError
from xorec.recommender.recommender import Recommender
from xorec.service.api.experiments import arm_of, share_of
from xorec.service.config import Config
from xorec.service.jobs.schedule import activate
from xorec.service.live.model import LiveModel
from xorec.service.live.models import LiveModels
from xorec.service.log.records import Change
from xorec.service.metrics import Metrics
from xorec.service.processes.start import start_writer
from xorec.service.snapshots import restore


@cache
def _codes() -> Recommender:
    return Recommender.from_model(xorec.DSIML(bits=32, epochs=2).fit(DATA), DATA)


def _active(ask: Served) -> list[tuple[int, str, bool]]:
    rows = ask.get("models")["models"][0]["generations"]
    return [(one["generation"], one["source"], one["active"]) for one in rows]


@pytest.mark.process
def test_update_rollback_and_activate(tmp_path: Path, kept: dict[str, Any]) -> None:
    with served(item_knn(), tmp_path, **kept) as ask:
        item = ask.ids(USER, 1)[0]
        said = ask.post("events", {"user": USER, "item": item})
        felt = ask.ids(USER, 5)
        ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
        assert _active(ask) == [(1, "import", False), (2, "update", True)]
        assert ask.ids(USER, 5) == felt
        path = tmp_path / "serve" / "models" / "default" / "00000002.xorec"
        assert Recommender.load(path).metadata["service"]["applied_seq"] == said["seq"]
        assert ask.post("models/rollback", {})["generation"] == 1
        assert ask.ids(USER, 5) == felt  # the old generation with the event on top of it
        ask.post("models/rollback", {})
        assert ask.status == 409
        ask.post("models/activate", {"generation": 9})
        assert ask.status == 404
        assert ask.post("models/activate", {"generation": 2})["generation"] == 2
        assert ask.get("recommend", user=USER)["model"]["generation"] == 2
    with served(item_knn(), tmp_path, **kept) as ask:
        assert ask.get("recommend", user=USER)["model"]["generation"] == 2
        assert ask.started.replayed > 0  # the changes of generation, no events
        assert len(ask.service.models.recent) == 0


def _with_copies(ask: Served, count: int) -> LiveModels:
    """Generations 2, 3, ... beside the first, which is served."""
    models = ask.service.models
    generations = models.generations("default")
    for number in range(2, count + 1):
        shutil.copyfile(generations.path(1), generations.path(number))
    return models


def test_activations_at_once_have_one_order(ask: Served) -> None:
    models = _with_copies(ask, 6)
    for _ in range(20):
        with ThreadPoolExecutor(6) as threads:
            list(threads.map(partial(activate, ask.service, "default"), range(1, 7)))
        assert models.default.about.number == models.generations("default").current()


def test_what_is_loaded_late_does_not_replace_what_was_said_since(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a worker that follows: it learns of an activation before the generation is loaded."""
    models = _with_copies(ask, 3)
    go_on, prepare = threading.Event(), models.prepare

    def slow(name: str, number: int) -> LiveModel:
        assert go_on.wait(PATIENCE)
        return prepare(name, number)

    monkeypatch.setattr(models, "prepare", slow)
    for seq, number in enumerate((2, 3, 1), models.applied_seq + 1):
        models.apply([Change(seq, "activate", {"name": "default", "generation": number})])
    go_on.set()
    until(lambda: not any("_load_and_swap" in one.name for one in threading.enumerate()))
    assert models.default.about.number == 1


@pytest.mark.process
def test_refit_passes_the_gate_or_is_kept_but_not_served(ask: Served) -> None:
    ask.post("events", {"events": taste(3)})
    done = ask.finish(ask.post("refit", {})["task"]["id"])
    assert done.result["gate"]["passed"], done.result
    assert _active(ask)[-1] == (2, "refit", True)
    ask.post("events", {"events": taste(6)})
    worse = ask.finish(ask.post("refit", {"recipe": "popularity"})["task"]["id"])
    gate = worse.result["gate"]
    assert not gate["passed"]
    assert gate["made_ndcg@10"] < gate["served_ndcg@10"]
    assert "not served" in worse.detail
    assert _active(ask)[1:] == [(2, "refit", True), (3, "refit", False)]
    ask.post("refit", {"recipe": "popularity", "settings": {"no": 1}})
    assert ask.status == 422


def test_experiments_split_by_hash_and_count_what_was_acted_on(
    tmp_path: Path, kept: dict[str, Any]
) -> None:
    with served(item_knn(), tmp_path, {"b": _codes()}, **kept) as ask:
        ask.put("experiments", {"name": "x", "arms": {"default": 1, "b": 3}, "salt": "s"})
        known = ask.service.models.experiments
        for user in DATA.users:
            answer = ask.get("recommend", user=user, experiment="x")
            assert answer["arm"] == answer["model"]["name"] == arm_of(known, "x", user)
            if answer["arm"] == "b":
                event = {"user": user, "item": answer["items"][0]["id"]}
                ask.post("events", {**event, "request_id": answer["request_id"]})
        (result,) = ask.get("experiments", name="x")["experiments"]
        first, second = result["arms"]
        assert first["interval"][1] > 0  # users who are all alike are no certainty
        assert first["users"] + second["users"] == DATA.n_users
        assert (first["rate"], second["rate"]) == (0, 1)
        assert second["users"] > first["users"]
        (test,) = result["tests"]
        assert test["difference"] == 1
        assert test["p_value"] < 0.01
        ask.put("experiments", {"name": "x", "arms": {"nobody": 1}})
        assert ask.status == 422


def test_lists_of_a_batch_count_and_those_after_the_end_do_not(tmp_path: Path) -> None:
    body = {"name": "x", "arms": {"default": 1, "b": 1}}
    users = DATA.users[:8]
    with served(item_knn(), tmp_path, {"b": _codes()}) as ask:
        ask.put("experiments", body)
        queries = [{"user": user, "experiment": "x"} for user in users]
        answers = [
            one["answer"] for one in ask.post("recommend/batch", {"queries": queries})["results"]
        ]
        assert [one["arm"] for one in answers] == [one["model"]["name"] for one in answers]
        ask.put("experiments", {**body, "active": False})
        ask.ids(users[0], experiment="x")
    with served(item_knn(), tmp_path, {"b": _codes()}) as ask:  # what waited is written
        (result,) = ask.get("experiments", name="x")["experiments"]
        assert sum(arm["lists"] for arm in result["arms"]) == len(users)


def test_shares_are_kept() -> None:
    places = np.array([share_of("salt", user) for user in range(20_000)])
    assert abs(np.mean(places < 0.3) - 0.3) < 0.02
    assert share_of("salt", 1) != share_of("salt", "1")


def test_a_snapshot_starts_a_service_with_all_it_had(tmp_path: Path, kept: dict[str, Any]) -> None:
    with served(item_knn(), tmp_path / "a", **kept) as ask:
        item = ask.ids(USER, 1)[0]
        ask.post("events", {"user": USER, "item": item, "event_id": "one"})
        ask.put("items", {"id": item, "name": "Known"})
        felt = ask.ids(USER, 5)
        path = Path(ask.post("snapshots")["snapshot"]["path"])
        assert ask.status == 201
        assert [one["path"] for one in ask.get("snapshots")["snapshots"]] == [str(path)]
    started = start_writer(Config(model=path, data=tmp_path / "b" / "serve"), Metrics())
    try:
        live = started.service.models.default
        hits = live.search(live.query_user(USER), 5, None, None)
        assert live.item_ids(hits.items[0].tolist()) == felt
        assert [one.event_id for one in started.service.reader.newest(5)] == ["one"]
        assert live.catalogue.infos[item].name == "Known"
    finally:
        started.close()


ABOUT = {"format": 1, "id": "a", "seq": 1, "made": "", "generation": 1, "models": {}}


@pytest.mark.parametrize(
    ("about", "name", "says"),
    [
        ([], "events.db", "no snapshot"),
        ({**ABOUT, "seq": None}, "events.db", "no snapshot"),
        ({**ABOUT, "format": 9}, "events.db", "format 9"),
        (ABOUT, "models//tmp/x", "tampered"),
        (ABOUT, "/models/a/b", "tampered"),
        (ABOUT, "models/../b", "tampered"),
    ],
)
def test_an_odd_snapshot_is_refused_and_does_not_hide_the_others(
    tmp_path: Path, ask: Served, about: Any, name: str, says: str
) -> None:
    good = ask.post("snapshots", {})["snapshot"]
    bad = Path(good["path"]).with_name("bad.snapshot.tar")
    with tarfile.open(bad, "w") as archive:
        for member, data in (("about.json", json.dumps(about).encode()), (name, b"")):
            info = tarfile.TarInfo(member)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    with pytest.raises(DataError, match=says):
        restore(bad, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    assert good in ask.get("snapshots")["snapshots"]


def test_export_has_every_event(tmp_path: Path, kept: dict[str, Any]) -> None:
    with served(item_knn(), tmp_path, **kept) as ask:
        ask.post("events", {"events": [{"user": USER, "item": one} for one in range(5)]})
        lines = ask.get("export").decode().splitlines()
        assert len(lines) == 5
        assert len(ask.get("export", after=3).decode().splitlines()) == 2


def test_the_histogram_is_that_of_the_distances(tmp_path: Path) -> None:
    with served(_codes(), tmp_path) as ask:
        histogram = ask.get("histogram", user=USER, k=10)
        assert sum(histogram["counts"]) == DATA.n_items
        best = _codes().recommend(USER, 50, seen=True)
        distances = [one.distance for one in best.items]
        assert histogram["cut"] == distances[9]
        assert histogram["tie"] == distances.count(distances[9])
        item = DATA.items[0]
        assert ask.get("histogram", item=item, k=1)["cut"] == 0
        ask.get("histogram", item=item, user=USER)
        assert ask.status == 422


def test_models_without_codes_say_so(ask: Served) -> None:
    answer = ask.get("histogram", user=USER)
    assert ask.status == 422
    assert "this model has" in answer["detail"]
