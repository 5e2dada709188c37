from __future__ import annotations

from typing import Any

from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.rq1_hashing import Hashing

from .test_comparison import KS, PlantedDataset

VARIANTS = {
    "dsiml-float": {"model": "dsiml", "asymmetric": True},
    "dsiml-plain": {"model": "dsiml", "teacher_list_length": 0},
}


def _hashing(**ndcg: float) -> Hashing:
    """RQ1 at 20 bits on planted figures, with variants of DSIML."""
    names = {name.replace("_", "-"): value for name, value in ndcg.items()}
    dataset: Any = PlantedDataset(
        {f"{name} 20": [(value, value, value)] for name, value in names.items()}
    )
    dataset.plan = Plan(ks=KS, seeds=(0,), bits=(20,), hashing=tuple(names), settings=VARIANTS)
    return Hashing(dataset)


def test_float_users_are_held_against_lightrec_and_codes_against_codes() -> None:
    claims = _hashing(dcf=0.1, lightrec=0.3, dsiml=0.2, dsiml_float=0.4).claims()
    found = {claim.text.partition(" (")[0]: (claim.verdict, claim.evidence) for claim in claims}
    everybody, codes, floats = found.values()
    assert everybody[0] == "holds in part"
    assert "the best other (dcf)" in codes[1]
    assert codes[0] == floats[0] == "holds"
    assert "With float users, DSIML is more accurate than LightRec" in found
    assert "0.4000, the best other (lightrec) 0.3000" in floats[1]


def test_its_own_variants_are_no_rivals_of_dsiml() -> None:
    claims = _hashing(dcf=0.1, dsiml=0.2, dsiml_float=0.4, dsiml_plain=0.3).claims()
    assert [claim.verdict for claim in claims] == ["holds"]


def test_tables_say_what_a_row_takes() -> None:
    table = _hashing(dcf=0.1, lightrec=0.3, dsiml=0.2).comparison.tables()[1]
    assert {"user_bits", "item_bits"} <= {column.key for column in table.columns}
