"""An executor that would compute other bytes refuses its first block."""

from __future__ import annotations

import pytest

from xorec.core.errors import XorecError
from xorec.engines.spark.machine import machine_facts, refuse_other_machine

SUMS = ("sums of kernels", "sums of BLAS", "sums of LAPACK", "functions of numpy")


def test_this_machine_is_like_itself() -> None:
    refuse_other_machine(dict(machine_facts()))
    assert {"code", "numpy", "scipy", "numba", "cpu", *SUMS} == set(machine_facts())


@pytest.mark.parametrize("name", ["code", "numba", "cpu", *SUMS])
def test_what_differs_is_named(name: str) -> None:
    other = {**machine_facts(), name: "another"}
    with pytest.raises(XorecError, match=rf"\({name}: .* here, another there\).*NUMBA_CPU_NAME"):
        refuse_other_machine(other)
