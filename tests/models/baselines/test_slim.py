from __future__ import annotations

from xorec.models.baselines.slim import SLIM
from xorec.testing.models import PersonalModelTests


class TestSLIM(PersonalModelTests):
    model = SLIM
    settings = {"l2": 5.0}  # noqa: RUF012
