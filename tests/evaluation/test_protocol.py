from itertools import chain, permutations, product

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.core.options import RunOptions
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.evaluation import rankings
from xorec.evaluation.metrics import USER_METRICS
from xorec.evaluation.protocol import Evaluation, evaluate
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.popularity import Popularity
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Vectors
from xorec.testing.engines import InProcess

Bools = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float32]
NAMES = ("ndcg", "recall", "hr", "user_hr", "precision", "mrr", "map")


def pairs(table: Bools, ids: list[int] | None = None) -> Interactions:
    """Interactions where the table (users, items) is true; `ids` are the raw item ids."""
    users, items = np.nonzero(table)
    raw = ids or list(range(table.shape[1]))
    return Interactions.from_rows(Ids.of(range(len(table))), Ids.of(raw), users, items)


def scored(scores: Scores) -> Vectors:
    """A representation with exactly these scores (users, items)."""
    return Vectors(scores, np.eye(scores.shape[1], dtype=np.float32))


def made(seed: int, n: int = 60, m: int = 40, levels: int = 10**6) -> tuple[Scores, Bools, Bools]:
    """Scores with so many levels, a train and a test table without common pairs."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (n, m)).astype(np.float32)
    part = rng.choice(3, (n, m), p=[0.7, 0.2, 0.1])
    return scores, part == 1, part == 2


def slow(orders: list[list[int]], tests: list[set[int]], k: int) -> dict[str, float]:
    """The definitions, said in Python, of one ranking for each user."""
    rows = []
    for order, test in zip(orders, tests, strict=True):
        flags = [item in test for item in order[:k]]
        hits = sum(flags)
        gains = [flag / np.log2(place + 2) for place, flag in enumerate(flags)]
        best = sum(1 / np.log2(place + 2) for place in range(min(k, len(test))))
        so_far = [sum(flags[: at + 1]) / (at + 1) for at, flag in enumerate(flags) if flag]
        first = 1 / (flags.index(True) + 1) if hits else 0.0
        rows.append(
            {
                "ndcg": sum(gains) / best,
                "recall": hits / len(test),
                "user_hr": float(hits > 0),
                "precision": hits / k,
                "mrr": first,
                "map": sum(so_far) / min(k, len(test)),
                "hits": hits,
            }
        )
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    means["hr"] = sum(row["hits"] for row in rows) / sum(map(len, tests))
    return means


def ranking(scores: Scores, seen: Bools, tie: npt.NDArray[np.int32]) -> list[int]:
    shown = np.flatnonzero(~seen)
    return sorted(shown.tolist(), key=lambda item: (-scores[item], tie[item]))


@pytest.mark.parametrize("levels", [2, 7, 10**6])
def test_agrees_with_the_definitions(levels: int) -> None:
    scores, train, test = made(1, levels=levels)
    test[::2] = False  # these users do not count
    found = evaluate(scored(scores), pairs(train), pairs(test), ks=(100, 5, 1, 5))
    tie = tie_rank(Ids.of(range(40)), train.sum(axis=0), 0)
    users = np.flatnonzero(test.any(axis=1))
    assert found.users.tolist() == users.tolist()
    orders = [ranking(scores[u], train[u], tie) for u in users]
    tests = [set(np.flatnonzero(test[u]).tolist()) for u in users]
    for k in (1, 5, 100):
        twin = slow(orders, tests, k)
        for name in NAMES:
            assert found[f"{name}@{k}"] == pytest.approx(twin[name], abs=1e-12)
        shown = np.bincount([item for order in orders for item in order[:k]], minlength=40)
        assert found[f"coverage@{k}"] == np.mean(shown > 0)
        gaps = np.abs(shown[:, None] - shown).mean()
        assert found[f"gini@{k}"] == pytest.approx(gaps / (2 * shown.mean()), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_expected_metrics_are_means_over_all_tie_orders(seed: int) -> None:
    scores, train, test = made(seed, n=6, m=8, levels=3)
    if not test.any():
        test[0] = ~train[0]
    found = evaluate(scored(scores), pairs(train), pairs(test), ks=(1, 2, 4, 8))
    for place, u in enumerate(found.users):
        groups = [[i for i in range(8) if scores[u, i] == s and not train[u, i]] for s in (2, 1, 0)]
        wanted = set(np.flatnonzero(test[u]).tolist())
        orders = [[*chain(*order)] for order in product(*map(permutations, groups))]
        for k in (1, 2, 4, 8):
            mean = slow(orders, [wanted] * len(orders), k)
            for name in ("ndcg", "recall", "user_hr", "precision", "mrr", "map", "hits"):
                value = found.per_user[f"{name}@{k}_expected"][place]
                assert value == pytest.approx(mean[name], abs=1e-12)


def test_agrees_with_ir_measures_on_ranks() -> None:
    ir = pytest.importorskip("ir_measures")
    scores, train, test = made(2, n=80, m=300, levels=30)
    ks = (1, 5, 20)
    found = evaluate(scored(scores), pairs(train), pairs(test), ks=ks)
    tie = tie_rank(Ids.of(range(300)), train.sum(axis=0), 0)
    qrels = {str(u): {str(i): 1 for i in np.flatnonzero(test[u])} for u in found.users}
    run = {
        str(u): {str(i): -at for at, i in enumerate(ranking(scores[u], train[u], tie))}
        for u in found.users
    }
    theirs = {"ndcg": ir.nDCG, "recall": ir.R, "precision": ir.P, "user_hr": ir.Success}
    theirs |= {"map": ir.AP, "mrr": ir.RR}
    ours = {measure @ k: f"{name}@{k}" for name, measure in theirs.items() for k in ks}
    row = {str(u): place for place, u in enumerate(found.users)}
    checked = 0
    for result in ir.iter_calc(list(ours), qrels, run):
        place = row[result.query_id]
        value = found.per_user[ours[result.measure]][place]
        if ours[result.measure].startswith("map"):  # theirs divides by all relevant items
            k, count = result.measure["cutoff"], found.test_counts[place]
            value *= min(k, count) / count
        assert value == pytest.approx(result.value, abs=1e-9)
        checked += 1
    assert checked == len(ours) * found.n_users


def same(a: Evaluation, b: Evaluation) -> bool:
    return a.metrics == b.metrics and all(
        a.per_user[name].tobytes() == b.per_user[name].tobytes() for name in a.per_user
    )


def test_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "BLOCK_BYTES", 1)
    rng = np.random.default_rng(3)
    _, train, test = made(3, n=333, m=150)
    vectors = Vectors(
        rng.standard_normal((333, 17)).astype(np.float32),
        rng.standard_normal((150, 17)).astype(np.float32),
        rng.standard_normal(150).astype(np.float32),
    )
    assert rankings.block_size(150) < 50
    first = evaluate(vectors, pairs(train), pairs(test), options=RunOptions(threads=1))
    for threads in (2, 3, 8):
        options = RunOptions(threads=threads)
        assert same(first, evaluate(vectors, pairs(train), pairs(test), options=options))


@pytest.mark.parametrize("kind", ["vectors", "codes", "neighbours"])
def test_the_same_bits_elsewhere(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "block_size", lambda _: 33)
    _, train, test = made(3, n=333, m=150)
    rng = np.random.default_rng(3)
    learned: dict[str, Representation] = {
        "vectors": Vectors(*(rng.random((n, 7), dtype=np.float32) for n in (333, 150))),
        "codes": Codes.from_signs(rng.standard_normal((333, 9)), rng.standard_normal((150, 9))),
        "neighbours": ItemKNN().fit(pairs(train)).representation_,
    }
    here = evaluate(learned[kind], pairs(train), pairs(test), options=RunOptions(threads=2))
    elsewhere = RunOptions(engine=InProcess(2))
    assert same(here, evaluate(learned[kind], pairs(train), pairs(test), options=elsewhere))


def test_what_was_made_elsewhere_of_one_model_is_not_taken_for_another() -> None:
    scores, train, test = made(4, n=200)
    options = RunOptions(engine=InProcess(1))
    for one in (scores, -scores):
        here = evaluate(scored(one), pairs(train), pairs(test))
        assert same(here, evaluate(scored(one), pairs(train), pairs(test), options=options))


def test_the_size_of_a_block_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, train, test = made(4, n=200, levels=5)
    whole = evaluate(scored(scores), pairs(train), pairs(test))
    monkeypatch.setattr(rankings, "block_size", lambda _: 7)
    assert same(whole, evaluate(scored(scores), pairs(train), pairs(test)))


@pytest.mark.parametrize("levels", [3, 10**6])
def test_renumbering_the_items_changes_nothing(levels: int) -> None:
    scores, train, test = made(8, levels=levels)
    ids = np.random.default_rng(8).permutation(40)
    one = evaluate(scored(scores), pairs(train), pairs(test))
    raw = ids.tolist()
    two = evaluate(scored(scores[:, ids]), pairs(train[:, ids], raw), pairs(test[:, ids], raw))
    for name in one.metrics:
        assert one[name] == pytest.approx(two[name], abs=1e-15)


def test_excluded_items_are_out_as_seen_ones_are() -> None:
    scores, train, test = made(9, levels=6)
    validation = train & (np.random.default_rng(9).random(train.shape) < 0.3)
    tie = tie_rank(Ids.of(range(40)), None, 1)
    one = evaluate(scored(scores), pairs(train), pairs(test), tie_rank=tie)
    parts = pairs(train & ~validation), pairs(test)
    two = evaluate(scored(scores), *parts, exclude=pairs(validation), tie_rank=tie)
    assert same(one, two)


def test_scores_may_be_nan() -> None:
    scores, train, test = made(10)
    scores[1] = np.nan
    found = evaluate(Vectors(scores, np.eye(40, dtype=np.float32)), pairs(train), pairs(test))
    assert np.isfinite(list(found.metrics.values())).all()
    assert found["recall@100"] == 1


def test_a_test_item_that_was_seen_counts_as_missed() -> None:
    train = np.array([[True, False, False]])
    test = np.array([[True, True, False]])
    found = evaluate(scored(np.zeros((1, 3), np.float32)), pairs(train), pairs(test), ks=(3,))
    assert found["recall@3"] == found["recall@3_expected"] == 0.5


def test_the_row_for_json() -> None:
    scores, train, test = made(11)
    found = evaluate(scored(scores), pairs(train), pairs(test), ks=[10])
    row = found.row()
    assert row["users"] == found.n_users
    assert row["test_items"] == test.sum()
    wanted = {f"{name}@10" for name in USER_METRICS}
    wanted |= {f"{name}@10_expected" for name, one in USER_METRICS.items() if one.expected}
    assert set(row) == wanted | {"coverage@10", "gini@10", "users", "test_items"}
    assert all(type(value) in (int, float) for value in row.values())


def test_the_frame_has_each_user_by_raw_id() -> None:
    train = [("ann", "tea"), ("bob", "tea"), ("bob", "jam"), ("cem", "jam"), ("cem", "tea")]
    test = [("cem", "oil"), ("ann", "jam"), ("ann", "oil")]
    model = Popularity().fit([*train, ("dia", "oil")])
    found = evaluate(model, [*train, ("dia", "oil")], test, ks=(1, 2))
    frame = found.to_frame()
    assert frame.columns == ["user", "test_items", *found.per_user]
    assert frame["user"].to_list() == ["ann", "cem"]
    assert frame["test_items"].to_list() == [2, 1]
    assert frame["recall@1"].to_list() == [0.5, 1.0]
    assert frame["ndcg@2"].mean() == found["ndcg@2"]


@pytest.mark.parametrize("ks", [[0], [-5], [10, 2.5], ["10"], [True], [], 10])
def test_an_impossible_k_is_refused(ks: list[int]) -> None:
    scores, train, test = made(12)
    with pytest.raises(OptionError, match=r"ks? is "):
        evaluate(scored(scores), pairs(train), pairs(test), ks=ks)


def test_parts_that_do_not_fit_are_refused() -> None:
    scores, train, test = made(13)
    model = scored(scores)
    with pytest.raises(DataError, match="the test part has no interactions"):
        evaluate(model, pairs(train), pairs(np.zeros_like(test)))
    with pytest.raises(DataError, match="the representation has 60 users x 39 items"):
        evaluate(scored(scores[:, :39]), pairs(train), pairs(test))
    with pytest.raises(OptionError, match="a str cannot be evaluated: give a fitted model"):
        evaluate("model", pairs(train), pairs(test))
    with pytest.raises(DataError, match="the test part: a int cannot be read"):
        evaluate(model, pairs(train), 7)
    with pytest.raises(DataError, match="tie_rank has shape"):
        evaluate(model, pairs(train), pairs(test), tie_rank=np.arange(3, dtype=np.int32))
    with pytest.raises(DataError, match="tie_rank is no permutation"):
        evaluate(model, pairs(train), pairs(test), tie_rank=np.full(40, 7, dtype=np.int32))
    with pytest.raises(DataError, match="by_category needs item categories"):
        evaluate(model, pairs(train), pairs(test), by_category=True)


def test_parts_are_aligned_by_their_ids() -> None:
    scores, train, test = made(14)
    whole = evaluate(scored(scores), pairs(train), pairs(test))
    alone = pairs(test).compact()  # as a file of its own is read
    turned = list(range(40))[::-1]
    for part in (alone, pairs(test[:, ::-1], turned)):
        found = evaluate(scored(scores), pairs(train), part)
        assert found.metrics == whole.metrics
        assert found.notes == ()


def test_test_pairs_that_cannot_be_ranked_are_left_out_and_said() -> None:
    scores, train, test = made(15)
    strange = Interactions.from_pairs([(u, i) for u, i in np.argwhere(test).tolist()] + [(0, 99)])
    found = evaluate(scored(scores), pairs(train), strange)
    assert found.metrics == evaluate(scored(scores), pairs(train), pairs(test)).metrics
    assert found.notes == (
        "1 pairs of the test part left out: 58 of 58 users and 40 of 41 items are in the training "
        "part",
    )
    assert found.notes[0] in found._repr_html_()


def test_foreign_ids_are_refused_with_both() -> None:
    scores, train, _ = made(16)
    with pytest.raises(DataError, match=r"none of the 1 users of the test part .* 0 there and 'a'"):
        evaluate(scored(scores), pairs(train), [("a", 3)])
    with pytest.raises(DataError, match=r"none of the 1 items of the test part .* 0 there and 77"):
        evaluate(scored(scores), pairs(train), [(3, 77)])
    with pytest.raises(DataError, match="1 of 2 users and 1 of 2 items are there"):
        evaluate(scored(scores), pairs(train), [(3, 77), (99, 4)])


def test_a_notebook_shows_a_table() -> None:
    scores, train, test = made(17)
    html = evaluate(scored(scores), pairs(train), pairs(test), ks=(5, 10))._repr_html_()
    assert html.count("<tr>") == 1 + len([*USER_METRICS]) + 2
    assert "<th>@5</th><th>@10</th>" in html
    assert "58 users, 232 test items" in html
