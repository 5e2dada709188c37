"""xorec doctor: this machine, the extras that are installed, whether a model file is whole."""

from __future__ import annotations

import platform
import re
import time
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line

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


def extras() -> dict[str, str]:
    """By extra, the versions of its packages, or what is missing and how it is installed."""
    found, asked = {}, requires("xorec") or []
    for extra, purpose in EXTRAS.items():
        versions, missing = [], []
        for package in sorted(packages_of(extra, asked)):
            try:
                versions.append(f"{package} {version(package)}")
            except PackageNotFoundError:
                missing.append(package)
        install = f"pip install 'xorec[{extra}]', for {purpose}"
        if versions or missing:
            lacks = f"{install}: {', '.join(missing)} missing"
            found[extra] = lacks if missing else ", ".join(versions)
    return found


def packages_of(extra: str, requirements: list[str]) -> list[str]:
    """The packages of an extra on this machine.

    >>> asked = ["numpy>=2", "httpx>=0.28; extra == 'client'", "optuna>=4; extra == 'tune'"]
    >>> packages_of("client", asked)
    ['httpx']
    >>> packages_of("tune", ["a; (platform_system == 'Plan9') and extra == 'tune'"])
    []
    """
    here = {"platform_system": platform.system(), "platform_machine": platform.machine()}
    found = []
    for line in requirements:
        needed, _, marker = line.partition(";")
        applies = all(
            (here.get(name) == value) == (sign == "==")
            for name, sign, value in _CONDITION.findall(marker)
        )
        if f"extra == '{extra}'" in marker.replace('"', "'") and applies:
            found.append(re.split(r"[\s\[<>=!~]", needed.strip(), maxsplit=1)[0])
    return found


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
        report |= _compile(run)
    report |= _machine()
    if run.json:
        print_json(report)
        return
    width = 2 + max(map(len, report))
    whole: Any = {"break_long_words": False, "break_on_hyphens": False}  # a path stays whole
    for name, value in report.items():
        print_line(fill(f"{name:<{width}}{value}", 80, subsequent_indent=" " * width, **whole))


def _machine() -> dict[str, Any]:
    import numpy as np
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
    from threadpoolctl import threadpool_info

    from xorec import __version__
    from xorec.core.threads import available_threads

    found: dict[str, Any] = {"xorec": __version__, "python": platform.python_version()}
    found |= {name: version(name) for name in _CORE}
    found |= {f"extra {name}": told for name, told in extras().items()}
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


def _compile(run: args.Run) -> dict[str, Any]:
    from xorec.lab.kernel_jobs import JOBS, compile_kernels

    options, began = run.options(), time.perf_counter()
    count = options.thread_count
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
    is_blake3 = ":" in metadata["digest"]
    algorithm = "BLAKE3 of metadata and tensors" if is_blake3 else "BLAKE2b of the tensors"
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
        "digest": f"{metadata['digest']} ({algorithm}, verified)",
        "values": "checked: every type, size, offset, row and rank of every tensor",
        "signature": signature,
        "search": recommender.index.explain(),
    }
