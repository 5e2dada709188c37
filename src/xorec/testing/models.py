"""ModelTests: what every model must do. A model's own test file only adds its mathematics."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from xorec.core.errors import DataError, NotFittedError, OptionError, UnknownIdError
from xorec.core.options import RunOptions
from xorec.core.progress import Progress
from xorec.data.interactions import Interactions
from xorec.evaluation.protocol import evaluate
from xorec.models import model_class, model_names
from xorec.models.base import Model
from xorec.models.baselines.popularity import Popularity
from xorec.recommender.recommender import Recommender
from xorec.recommender.updating import without_users
from xorec.testing.data import checkerboard, halves, planted, weighted
from xorec.training import passes


class Notes(Progress):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


_SHARED: dict[str, Callable[[], Interactions]] = {
    "small": lambda: planted(60, 40),
    "checkerboard": checkerboard,
    "train": lambda: halves(planted())[0],
}


@lru_cache(maxsize=len(_SHARED))
def _fit_once(tests: Any, data: str) -> tuple[Interactions, Model[Any]]:
    """By the class of the tests: those that run next have others."""
    train = _SHARED[data]()
    return train, tests().make().fit(train)


class ModelTests:
    """Derive, set `model` (and settings that suit tiny data), and every test runs on it."""

    model: ClassVar[type[Model[Any]]]
    settings: ClassVar[dict[str, Any]] = {}
    fold_in_agreement: ClassVar[float] = 0.9
    """Of the NDCG of trained users, what folding them in from their own items must keep."""

    def make(self, **settings: Any) -> Model[Any]:
        return self.model(**{**self.settings, **settings})

    def _fitted(self, data: str) -> tuple[Interactions, Model[Any]]:
        """The data and the model that learned from them: one fit for all tests that only ask it."""
        tests: Any = type(self)  # a class is Hashable, whatever mypy says
        return _fit_once(tests, data)

    def test_is_registered_under_its_name(self) -> None:
        assert self.model.name in model_names()
        assert model_class(self.model.name) is self.model
        about = (sys.modules[self.model.__module__].__doc__ or "").splitlines()[0]
        assert about.endswith("."), f"`xorec models` shows half a sentence: {about}"

    def test_settings_round_trip_through_json(self) -> None:
        config = self.make().config
        assert type(config).model_validate_json(config.model_dump_json()) == config

    def test_settings_are_frozen(self) -> None:
        config = self.make().config
        for name in type(config).model_fields:
            with pytest.raises(ValueError, match="frozen"):
                setattr(config, name, getattr(config, name))

    def test_unknown_setting_is_refused_by_name(self) -> None:
        with pytest.raises(OptionError, match="no setting 'wings'"):
            self.model(wings=2)

    def test_every_setting_says_what_it_is(self) -> None:
        for name, field in self.model.Config.model_fields.items():
            assert field.description, f"{name} has no description"

    def test_not_fitted(self) -> None:
        with pytest.raises(NotFittedError, match="call fit first"):
            _ = self.make().representation_

    def test_fit_returns_self_and_scores_every_item(self) -> None:
        data = checkerboard(10)
        model = self.make()
        assert model.fit(data) is model
        scores = model.representation_.scores(np.array([3, 1]))
        assert scores.shape == (2, data.n_items)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()
        assert (model.representation_.n_users, model.representation_.n_items) == (10, 10)
        assert model.representation_.nbytes > 0

    def test_fit_leaves_the_data_alone(self) -> None:
        data, _ = self._fitted("small")
        assert data.digest() == planted(60, 40).digest()

    def test_empty_training_part_is_refused(self) -> None:
        data = checkerboard(6)
        with pytest.raises(DataError, match="no interactions"):
            self.make().fit(data.select(np.zeros(data.n_pairs, dtype=np.bool_)))

    def test_validation_of_other_ids_is_refused(self) -> None:
        with pytest.raises(DataError, match="none of the 1 users of the validation part"):
            self.make().fit(checkerboard(6), [("somebody", "something")])

    @pytest.mark.parametrize("pairs", [[(1, 1)], [(1, 1), (1, 2)], [(1, 1), (2, 1), (2, 2)]])
    def test_tiny_data(self, pairs: list[tuple[int, int]]) -> None:
        """One pair; a user who has everything."""
        data = Interactions.from_pairs(pairs)
        scores = self.make().fit(data).representation_.scores(np.arange(data.n_users))
        assert np.isfinite(scores).all()

    def test_same_seed_same_bytes_for_any_number_of_threads(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(passes, "SHARE", 1)  # small blocks are shared by all threads, too
        data = planted(80, 60)
        for threads in (1, 3):
            with threadpool_limits(threads, user_api="blas"):  # as many as the machine has cores
                model = self.make().fit(data, options=RunOptions(seed=7, threads=threads))
            Recommender.from_model(model, data, seed=7).save(tmp_path / f"{threads}.xorec")
        assert (tmp_path / "1.xorec").read_bytes() == (tmp_path / "3.xorec").read_bytes()

    def test_weights_are_used_or_said_to_be_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Weights of 1 are as none, to the last bit; others are the same for any threads."""
        monkeypatch.setattr(passes, "SHARE", 1)
        data, notes = planted(60, 40), Notes()
        ones = replace(data, weights=np.ones(data.n_pairs, dtype=np.float32))
        bare, same, one, three = (
            self._learned(pairs, RunOptions(seed=7, threads=threads, progress=notes))
            for pairs, threads in ((data, 1), (ones, 1), (weighted(data), 1), (weighted(data), 3))
        )
        assert same == bare
        assert one == three
        ignored = f"{self.model.name} does not use weights: every pair counts the same."
        assert (one == bare) == (ignored in notes.said) == (not self.model.weighting)

    def _learned(self, data: Interactions, options: RunOptions) -> dict[str, bytes]:
        tensors = self.make().fit(data, options=options).representation_.tensors()
        assert all(np.isfinite(tensor).all() for tensor in tensors.values())
        return {name: tensor.tobytes() for name, tensor in tensors.items()}

    def test_model_file_round_trip(self, tmp_path: Path) -> None:
        data = weighted(planted(60, 40))
        before = Recommender.from_model(self.make().fit(data), data)
        before.save(tmp_path / "model.xorec")
        after = Recommender.load(tmp_path / "model.xorec")
        assert after.metadata["config"] == before.metadata["config"]
        for user in range(60):
            assert after.recommend(user, 7) == before.recommend(user, 7)

    def test_users_can_be_forgotten(self, tmp_path: Path) -> None:
        """Nothing of them is left, and nothing changes for those who stay."""
        data, model = self._fitted("small")
        before = Recommender.from_model(model, data)
        left = without_users(before, data.users.take([0, 7, 59]))
        kept = np.setdiff1d(np.arange(60), [0, 7, 59])
        learned = left.representation
        assert learned.n_users == len(left.user_ids) == 57
        scores = before.representation.scores(kept)
        assert np.allclose(learned.scores(np.arange(57)), scores, atol=1e-6)
        left.save(tmp_path / "left.xorec")
        stored = Recommender.load(tmp_path / "left.xorec")
        assert [stored.items_of(row).tolist() for row in range(57)] == [
            data.of_user(int(row)).tolist() for row in kept
        ]

    def test_never_recommends_what_the_user_has_and_fills_k(self) -> None:
        data, model = self._fitted("small")
        recommender = Recommender.from_model(model, data)
        for user in range(60):
            best = recommender.recommend(user, 40)
            seen = set(data.items.take(data.of_user(user)))
            assert not seen & set(best.ids())
            assert len(best) == 40 - len(seen)
            scores = [item.score for item in best.items]
            assert scores == sorted(scores, reverse=True)

    def test_fold_in_ranks_like_the_trained_user(self) -> None:
        """Users folded in from their own training items: nearly as good as the trained ones."""
        _, test = halves(planted())
        train, model = self._fitted("train")
        trained = model.representation_
        rows = np.arange(train.n_users)
        folded = np.vstack(
            [trained.score(model.fold_in(trained, train.of_user(int(u)))) for u in rows]
        )

        class Folded:
            n_users, n_items = trained.n_users, trained.n_items

            def scores(self, users: Any) -> Any:
                return folded[users]

        new = evaluate(Folded(), train, test, ks=(10,))
        old = evaluate(trained, train, test, ks=(10,))
        assert new["ndcg@10"] > self.fold_in_agreement * old["ndcg@10"]

    def test_unknown_user_is_told_about_fold_in(self) -> None:
        data, model = self._fitted("checkerboard")
        recommender = Recommender.from_model(model, data)
        with pytest.raises(UnknownIdError, match=r"'nobody' is not in the model.*for a new user"):
            recommender.recommend("nobody")


class PersonalModelTests(ModelTests):
    """For models that give each user a list of their own: all but popularity."""

    better_than_popularity: ClassVar[float] = 1.3
    """NDCG@10 on planted groups must be this many times popularity's."""

    def test_checkerboard(self) -> None:
        """Each user misses one item of their colour: it must come first."""
        data, model = self._fitted("checkerboard")
        best = Recommender.from_model(model, data)
        right = sum(best.recommend(f"u{u:02}", 1).ids() == [f"i{u:02}"] for u in range(50))
        assert right == 50

    def test_beats_popularity_on_planted_groups(self) -> None:
        _, test = halves(planted())
        train, model = self._fitted("train")
        floor = evaluate(Popularity().fit(train).representation_, train, test, ks=(10,))
        ours = evaluate(model.representation_, train, test, ks=(10,))
        assert ours["ndcg@10"] > self.better_than_popularity * floor["ndcg@10"]

    def test_similar_items_share_their_group(self) -> None:
        data, model = self._fitted("checkerboard")
        recommender = Recommender.from_model(model, data)
        near = recommender.similar("i04", 5).ids()
        assert "i04" not in near
        assert [int(item[1:]) % 2 for item in near] == [0] * 5

    def test_update_takes_in_late_users_and_items(self) -> None:
        """The checkerboard again; a tenth of its users and items come when the model stands."""
        if self.model._update is Model._update:
            pytest.skip("it has no update of its own")
        data = checkerboard()
        rows = zip(data.user_rows.tolist(), data.indices.tolist(), strict=True)
        pairs = [(data.users[u], data.items[i]) for u, i in rows]
        early = [one for one in pairs if one[0] < "u45" and one[1] < "i45"]
        late = Interactions.from_pairs(one for one in pairs if one not in early)
        first = Interactions.from_pairs(early)
        best = Recommender.from_model(self.make().fit(first), first).update(late)
        assert best.metadata["data"]["pairs"] == data.n_pairs
        right = sum(best.recommend(f"u{u:02}", 1).ids() == [f"i{u:02}"] for u in range(50))
        assert right >= self.right_after_update

    right_after_update: ClassVar[int] = 50
    """Of the 50 users of the checkerboard."""


class EpochModelTests(PersonalModelTests):
    """For models that learn by epochs: checkpoint, resume, validation."""

    def test_resume_gives_the_bytes_of_the_unbroken_run(self, tmp_path: Path) -> None:
        data = planted(120, 90)
        train, validation = halves(data)
        whole = self.make(epochs=6).fit(train, validation, RunOptions(seed=3))

        class Killed(BaseException):
            pass

        path = tmp_path / "run.checkpoint"
        options = RunOptions(seed=3, checkpoint=path)
        broken = self.make(epochs=6)
        trained: list[int] = []

        def stop_after_four(self: Any, state: Any, represent: Any) -> dict[str, float]:
            facts = validate(self, state, represent)
            trained.append(state.epoch)
            if state.epoch == 4:
                raise Killed
            return facts

        from xorec.training.epochs import EpochTrainer

        validate = EpochTrainer._validate
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EpochTrainer, "_validate", stop_after_four)
            with pytest.raises(Killed):
                broken.fit(train, validation, options)
        assert trained == [1, 2, 3, 4]
        resumed = self.make(epochs=6).fit(train, validation, replace(options, resume=True))
        for name, tensor in whole.representation_.tensors().items():
            assert tensor.tobytes() == resumed.representation_.tensors()[name].tobytes()
        assert resumed.history_ == whole.history_

    def test_another_runs_checkpoint_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "run.checkpoint"
        data = planted(60, 40)
        self.make(epochs=1).fit(data, options=RunOptions(seed=3, checkpoint=path))
        again = RunOptions(seed=4, checkpoint=path, resume=True)
        with pytest.raises(Exception, match="belongs to another run"):
            self.make(epochs=1).fit(data, options=again)

    def test_validation_picks_the_best_epoch(self) -> None:
        train, validation = halves(planted())
        model = self.make(epochs=8, validate_every=2).fit(train, validation)
        values = {
            row["epoch"]: row["validation_ndcg@20"]
            for row in model.history_
            if "validation_ndcg@20" in row
        }
        assert model.epochs_ == max(values, key=lambda epoch: (values[epoch], -epoch))
        found = evaluate(model.representation_, train, validation, ks=(20,))["ndcg@20"]
        assert found == values[model.epochs_]
