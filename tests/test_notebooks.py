"""The notebooks run from top to bottom; their outputs are not kept."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import xorec

pytestmark = pytest.mark.docs

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    return [
        one for one in json.loads(path.read_text("utf-8"))["cells"] if one["cell_type"] == "code"
    ]


def test_all_are_there() -> None:
    assert [path.name[0] for path in NOTEBOOKS] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_not_kept(path: Path) -> None:
    assert not any(one["outputs"] or one["execution_count"] for one in cells(path))


def shown(code: str, names: dict[str, Any], where: str) -> Any:
    """Run a cell as a notebook does; the value of its last line."""
    tree = ast.parse(code)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, where, "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), where, "exec"), names)
    return eval(compile(ast.Expression(last.value), where, "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    pictures = 0
    try:
        for number, cell in enumerate(cells(path)):
            value = shown("".join(cell["source"]), names, f"{path.name}, cell {number}")
            if hasattr(value, "_repr_png_"):
                assert value._repr_png_().startswith(b"\x89PNG")
                pictures += 1
    finally:
        if "server" in names and names["server"].poll() is None:
            names["server"].kill()
    assert pictures == {"1": 1, "2": 3, "3": 0, "4": 1}[path.name[0]]
    check = CHECKS.get(path.name[0])
    if check is not None:
        check(names)


def check_first_steps(names: dict[str, Any]) -> None:
    assert names["lists"]["right"].sum() >= 2
    assert 0.3 < names["found"]["ndcg@10"] < 0.6


def check_compare(names: dict[str, Any]) -> None:
    by_label = {one.label: one.evaluation["ndcg@10"] for one in names["rows"]}
    assert by_label["slim"] > by_label["signs 128"] > by_label["signs 16"] > by_label["popularity"]


def check_embeddings(names: dict[str, Any]) -> None:
    right = (names["about"][names["hits"].items] == names["asked"][:, None]).mean()
    fine = (names["about"][names["fine"]] == names["asked"][:, None]).mean()
    exact = (names["about"][names["exact"]] == names["asked"][:, None]).mean()
    assert 0.5 * exact < right < 0.9 * fine
    assert fine > 0.95 * exact
    turned, learned = (
        xorec.evaluate(names[one], names["parts"].train, names["parts"].test, ks=(10,))["ndcg@10"]
        for one in ("turned", "learned")
    )
    assert learned > 2 * turned


CHECKS = {"1": check_first_steps, "2": check_compare, "4": check_embeddings}
