import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.testing.block_problems import BlockProblems


@pytest.mark.parametrize("role", [0, 1, 2])
@pytest.mark.parametrize("gamma", [1.0, 0.7])
def test_terms_are_those_of_the_loss(role: int, gamma: float) -> None:
    """w.z + s = x and y of the triplet, whichever of its three codes is z."""
    d, tau = 10, 4.0
    rng = np.random.default_rng(role)
    codes = np.where(rng.random((3, 6, d)) < 0.5, -1.0, 1.0)
    codes[role] = codes[role, 0]
    u, i, j = codes
    others = [codes[k] for k in range(3) if k != role]
    problems = BlockProblems(bits=d, temperature=tau, gamma=gamma, lambda_=2.0)
    (omega_x, w_x, s_x), (omega_y, w_y, s_y) = problems._terms(role, *others)
    g = gamma**2
    x = ((u * j).sum(1) - (u * i).sum(1)) / (2 * d)
    y = tau / d * (2 * g * ((u * j).sum(1) + (i * j).sum(1)) - (1 + g) * (u * i).sum(1))
    np.testing.assert_allclose(w_x @ codes[role, 0] + s_x, x)
    np.testing.assert_allclose(w_y @ codes[role, 0] + s_y, y)
    assert (omega_x, omega_y) == (1.0, 2.0)


def test_problems_are_symmetric_convex_and_follow_the_seed() -> None:
    problems = BlockProblems(bits=12, codes="random")
    A, c, start = problems.draw(6, seed=3)
    np.testing.assert_array_equal(A, A.swapaxes(1, 2))
    assert np.linalg.eigvalsh(A).min() > -1e-9
    assert set(np.unique(start)) == {-1, 1}
    again = problems.draw(6, seed=3)
    for one, two in zip((A, c, start), again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(A, problems.draw(6, seed=4)[0])


def test_triplets_are_checked() -> None:
    with pytest.raises(OptionError, match=r"triplets is \(9, 3\)"):
        BlockProblems(bits=4, triplets=(9, 3))
