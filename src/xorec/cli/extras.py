"""The extras: what each is for, and which of its packages are not installed."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

EXTRAS = {
    "serve": "the service and its page",
    "client": "xorec.client",
    "plots": "pictures",
    "tune": "xorec tune",
    "reproduce": "xorec reproduce",
    "faiss": "faiss indexes",
    "sign": "signed model files",
    "postgresql": "PostgreSQL",
    "clickhouse": "ClickHouse",
    "duckdb": "DuckDB",
    "sqlite": "faster SQLite",
    "spark": "Spark, with Java 17",
    "solvers": "other binary solvers",
    "docs": "make docs",
}
"""Name: what it is for. Those for the tests alone are not here."""
_CONDITION = re.compile(r"(platform_\w+) (==|!=) ['\"]([^'\"]+)['\"]")


class Extra(NamedTuple):
    """An extra; versions: of its packages that are here; missing: those that are not."""

    name: str
    versions: dict[str, str]
    missing: list[str]

    @property
    def install(self) -> str:
        """The command that brings it."""
        return f"pip install 'xorec[{self.name}]'"

    def __str__(self) -> str:
        if self.missing:
            return f"{self.install}, for {EXTRAS[self.name]}: {', '.join(self.missing)} missing"
        return ", ".join(f"{name} {found}" for name, found in self.versions.items())


def extras() -> list[Extra]:
    """Every extra that the installed xorec says it has."""
    asked = requires("xorec") or []
    found = ((name, packages_of(name, asked)) for name in EXTRAS)
    return [_looked_at(name, packages) for name, packages in found if packages]


def _looked_at(name: str, packages: list[str]) -> Extra:
    versions, missing = {}, []
    for package in sorted(packages):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            missing.append(package)
    return Extra(name, versions, missing)


def packages_of(extra: str, requirements: list[str]) -> list[str]:
    """The packages of an extra on this machine.

    >>> asked = ["numpy>=2", "httpx>=0.28; extra == 'client'", "optuna>=4; extra == 'tune'"]
    >>> packages_of("client", asked)
    ['httpx']
    >>> packages_of("tune", ["a; (platform_system == 'Plan9') and extra == 'tune'"])
    []
    """
    found = []
    for line in requirements:
        needed, _, marker = line.partition(";")
        if f"extra == '{extra}'" in marker.replace('"', "'") and _applies(marker):
            found.append(re.split(r"[\s\[<>=!~]", needed.strip(), maxsplit=1)[0])
    return found


def _applies(marker: str) -> bool:
    here = {"platform_system": platform.system(), "platform_machine": platform.machine()}
    return all(
        (here.get(name) == value) == (sign == "==")
        for name, sign, value in _CONDITION.findall(marker)
    )
