import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.training.discrete.bqp import SOLVERS, make_solver
from xorec.training.discrete.bqp.base import random_code


def test_unknown_solver_is_told_the_names() -> None:
    with pytest.raises(OptionError, match="no solver 'gurobi': the solvers are exact, descent"):
        make_solver("gurobi")


def test_random_codes_follow_the_seed() -> None:
    assert (random_code(64, 3) == random_code(64, 3)).all()
    assert (random_code(64, 3) != random_code(64, 4)).any()
    assert abs(np.mean([random_code(256, seed) for seed in range(50)])) < 0.05


def test_every_solver_has_a_module_and_a_class() -> None:
    for name in SOLVERS:
        assert make_solver(name).name == name
