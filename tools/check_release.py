"""Build wheel and sdist, check both, and use the wheel in an empty venv, away from the repository.

    python tools/check_release.py            # dist/, and what was measured
    python tools/check_release.py --json     # the same as one object
    python tools/check_release.py --python python3.13 --constraints constraints-oldest.txt

Needs `pip install 'xorec[release]'`, and an index for what the wheel depends on.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 5_000_000
"""Bytes of a wheel; more would be data that does not belong into it."""
PAIRS = "user,item\n" + "".join(
    f"u{user},i{item}\n" for user in range(60) for item in range(user % 4, 40, 4)
)


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """The output of a command; ends with its own messages where it fails."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def versions() -> str:
    """The version, if code, changelog and citation agree; what is `Unreleased` has none yet."""
    found = {
        "src/xorec/__init__.py": r'__version__ = "(.+)"',
        "CHANGELOG.md": r"(?m)^## (\d\S*)",
        "CITATION.cff": r"(?m)^version: (\S+)",
    }
    said = {}
    for name, pattern in found.items():
        match = re.search(pattern, (ROOT / name).read_text("utf-8"))
        said[name] = match[1] if match else "none"
    if len(set(said.values())) != 1:
        raise SystemExit(f"the versions differ: {said}")
    return said["CITATION.cff"]


def build(folder: Path) -> tuple[Path, Path]:
    """A new wheel and a new sdist."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    run(sys.executable, "-m", "check_wheel_contents", wheel)
    if wheel.stat().st_size > LARGEST:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes: what is in it?")
    return wheel, sdist


def use(wheel: Path, folder: Path, version: str, maker: str, constraints: Path) -> dict[str, Any]:
    """Install the wheel into an empty venv, and go from a file of pairs to lists."""
    run(maker, "-m", "venv", folder / "venv", cwd=folder)
    python, xorec = folder / "venv/bin/python", folder / "venv/bin/xorec"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    began = time.perf_counter()
    run(*pip, "-c", constraints, wheel, cwd=folder)
    installed = time.perf_counter() - began
    place = run(python, "-c", "import xorec; print(xorec.__file__)", cwd=folder)
    if not place.startswith(str(folder)):
        raise SystemExit(f"it is not the wheel that is used, but {place}")
    for words in ((xorec,), (python, "-m", "xorec")):
        assert run(*words, "--version", cwd=folder) == f"xorec {version}\n"
    (folder / "pairs.csv").write_text(PAIRS)
    run(xorec, "fit", "pairs.csv", "--trials", "2", "-o", "shop.xorec", "--quiet", cwd=folder)
    listed = json.loads(
        run(xorec, "recommend", "shop.xorec", "--user", "u0", "-k", "5", "--json", cwd=folder)
    )
    assert len(listed["items"]) == 5, listed
    run(xorec, "fit", "debian", "--model", "signs", "-o", "codes.xorec", "--quiet", cwd=folder)
    run(xorec, "export", "codes.xorec", "--to", "codes.sqlite", "--users", cwd=folder)
    asked = [
        run(xorec, "recommend", one, "--user", "vlc", "--raw", cwd=folder)
        for one in ("codes.xorec", "codes.sqlite")
    ]
    assert asked[0] == asked[1] != "", asked
    return {
        "python": run(python, "--version", cwd=folder).split()[1],
        "install_seconds": round(installed, 1),
        "import_ms": round(1000 * _seconds(python, "-c", "import xorec", cwd=folder), 1),
        "python_ms": round(1000 * _seconds(python, "-c", "pass", cwd=folder), 1),
        "help_ms": round(1000 * _seconds(xorec, "--help", cwd=folder), 1),
    }


def _seconds(*words: str | Path, cwd: Path) -> float:
    """Median of 7 runs, the first not counted."""
    times = []
    for _ in range(8):
        began = time.perf_counter()
        run(*words, cwd=cwd)
        times.append(time.perf_counter() - began)
    return median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--constraints", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--python", default=sys.executable, help="what the venv is made with")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    version = versions()
    wheel, sdist = build(ROOT / "dist")
    with tempfile.TemporaryDirectory(prefix="xorec-release-") as folder:
        place, constraints = Path(folder).resolve(), arguments.constraints.resolve()
        used = use(wheel, place, version, arguments.python, constraints)
    sizes = {"wheel_bytes": wheel.stat().st_size, "sdist_bytes": sdist.stat().st_size}
    report = {"version": version, "wheel": wheel.name, **sizes, **used}
    if arguments.json:
        print(json.dumps(report))
    else:
        print("\n".join(f"{name:16} {value}" for name, value in report.items()))


if __name__ == "__main__":
    main()
