"""A fit has one thread of BLAS, and gives back what it found.

In a process of its own: libraries that other tests loaded (solvers, torch) keep their threads.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SCRIPT = """
import json
import scipy.linalg  # loads the BLAS of SciPy beside that of NumPy
from threadpoolctl import threadpool_info, threadpool_limits
from xorec.models.baselines.popularity import Popularity
from xorec.testing.data import planted

def threads():
    return sorted({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})

seen = []
learn = Popularity._learn

def watched(self, *given):
    seen.append(threads())
    return learn(self, *given)

Popularity._learn = watched
with threadpool_limits(2, user_api="blas"):
    before = threads()
    Popularity().fit(planted(20, 10, per_user=3))
    print(json.dumps({"before": before, "during": seen, "after": threads()}))
"""


def test_a_fit_has_one_blas_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"before": [2], "during": [[1]], "after": [2]}
