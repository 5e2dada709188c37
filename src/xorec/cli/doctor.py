"""xorec doctor: this machine, the extras that are installed, whether a model file is whole."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line

if TYPE_CHECKING:
    from xorec.core.options import RunOptions


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


_CORE = (
    *("numpy", "scipy", "numba", "polars", "narwhals", "pydantic", "safetensors"),
    *("blake3", "typer"),
)


@args.bundled
def doctor(
    *,
    model: Path | None = args.argument(None, "A model file to verify."),
    compile_kernels: bool = args.option(
        False, "Compile the usual kernels now, and keep them.", "--compile"
    ),
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """Show versions, extras, threads and CPU; with MODEL, verify every byte of the file.

    For each missing extra, it shows the command that installs it.

    With --compile, the kernels of training, evaluation and search are compiled now, on all cores,
    so that no later command waits for them: a minute or two, once after an install.
    """
    report = {} if model is None else _model(model)
    if compile_kernels:
        report |= _compile(run.options())
    report |= _machine()
    if run.json:
        print_json(report)
    else:
        _print(report)


def _print(report: dict[str, Any]) -> None:
    """A line or more for each fact; what has no blanks, such as a path, stays whole."""
    from textwrap import fill

    width = 2 + max(map(len, report))
    for name, value in report.items():
        indent = " " * width
        line = f"{name:<{width}}{value}"
        print_line(
            fill(line, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        )


def _machine() -> dict[str, Any]:
    import numpy as np
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
    from threadpoolctl import threadpool_info

    from xorec import __version__
    from xorec.core.threads import available_threads

    found: dict[str, Any] = {"xorec": __version__, "python": platform.python_version()}
    found |= {name: version(name) for name in _CORE}
    found |= {f"extra {one.name}": str(one) for one in extras()}
    features = get_host_cpu_features()
    wanted = ("popcnt", "avx2", "avx512f", "avx512vpopcntdq", "neon")
    np.dot(np.ones(2), np.ones(2))  # so that BLAS is loaded and can be asked
    blas = [f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info()]
    return found | {
        "threads": available_threads(),
        "cpu": get_host_cpu_name(),
        "cpu features": ", ".join(name for name in wanted if features.get(name)) or "none of note",
        "blas": ", ".join(sorted(set(blas))),
        "kernel cache": _kernel_cache(),
    }


def _kernel_cache() -> str:
    from xorec.core.kernel_cache import kernel_folder, kernels_are_kept

    kept = kernels_are_kept()
    return str(kernel_folder()) if kept else "none writable: each process compiles its kernels"


def _compile(options: RunOptions) -> dict[str, Any]:
    import time

    from xorec.lab.kernel_jobs import JOBS, compile_kernels

    count, began = options.thread_count, time.perf_counter()
    options.progress.note(f"compiling kernels of {len(JOBS)} jobs in {count} processes")
    done = list(compile_kernels(options))
    functions, seconds = sum(one.functions for one in done), time.perf_counter() - began
    jobs = ", ".join(f"{one.job} {one.seconds:.1f} s" for one in done)
    return {"kernels": f"{functions} functions compiled in {seconds:.1f} s: {jobs}"}


def _model(path: Path) -> dict[str, Any]:
    from xorec.recommender import storage
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.signing import signature_state

    recommender = Recommender.load(path, verify=True)
    with storage.opened(path) as file:
        metadata, signature = file.metadata, signature_state(file)
    codes = metadata.get("codes")
    about = {"bits": codes["bits"], "codes digest": codes["digest"]} if codes else {}
    if recommender.categories is not None:
        about["categories"] = len(recommender.categories.labels)
    return {
        "model file": str(path),
        "format": metadata["format"],
        "model": metadata["model"],
        **about,
        "tensors": len(file.tensors),
        "bytes": file.status.st_size,
        "digest": f"{metadata['digest']} ({_algorithm(metadata['digest'])}, verified)",
        "values": "checked: every type, size, offset, row and rank of every tensor",
        "signature": signature,
        "search": recommender.index.explain(),
    }


def _algorithm(digest: str) -> str:
    return "BLAKE3 of metadata and tensors" if ":" in digest else "BLAKE2b of the tensors"
