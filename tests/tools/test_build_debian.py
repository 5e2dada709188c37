"""The tool that makes the embedded data set, on Sources files written by hand."""

from __future__ import annotations

import gzip
import lzma
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "build_debian.py"

SOURCES = """\
Package: player
Binary: player, libplayer-dev
Build-Depends: debhelper-compat (= 13), libsound-dev (>= 1.2), libssl-dev | libgnutls-dev,
 python3-numpy:any <!nocheck>,
# a comment inside the field
 libx11-dev [linux-any !hurd-i386], gcc-arm <cross>,
\tlibextra-dev <!stage1> <cross>
Build-Depends-Indep: doxygen:native
Build-Depends-Arch: librust-libc-0.2+default-dev (>= 0.2.1)
Package-List:
 player deb sound optional arch=any
 libplayer-dev deb libdevel optional arch=any
 player-udeb udeb debian-installer optional arch=any

Package: libs
Build-Depends: libsound-dev, ghost-dev
Package-List:
 libsound-dev deb libdevel optional arch=any
 libssl-dev deb libdevel optional arch=any
 libx11-dev deb libdevel optional arch=any
 libextra-dev deb contrib/libdevel optional arch=any
 python3-numpy deb python optional arch=any
 doxygen deb devel optional arch=any
 librust-libc-dev deb rust optional arch=any
 gcc-arm deb devel optional arch=any

Package: libs
Extra-Source-Only: yes
Build-Depends: libancient-dev

Package: nothing
"""


@pytest.fixture(scope="module")
def tool() -> Any:
    return SimpleNamespace(**runpy.run_path(str(TOOL), run_name="build_debian"))


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "Sources"
    path.write_text(SOURCES)
    return path


def test_fields_are_read_as_debian_means_them(tool: Any, sources: Path) -> None:
    depends, sections = tool.read_sources([sources])
    assert depends == {
        "player": {
            "debhelper-compat",
            "libsound-dev",
            "libssl-dev",  # the first alternative
            "python3-numpy",  # needed in a normal build
            "libx11-dev",
            "libextra-dev",  # one of its two conditions holds in a normal build
            "doxygen",
            "librust-libc-0.2+default-dev",
        },
        "libs": {"libsound-dev", "ghost-dev"},
        "nothing": set(),
    }
    assert sections["libextra-dev"] == "libdevel"
    assert "player-udeb" not in sections


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("a1 (>= 2), b2|c3 , d4 [amd64] <!nodoc>", ["a1", "b2", "d4"]),
        ("a1:native (= 1:2.0~rc1-3), libstdc++-dev", ["a1", "libstdc++-dev"]),
        ("a1 <cross>, b2 <!cross !nocheck>, c3 <pkg.x.y> <!nocheck>", ["b2", "c3"]),
        ("", []),
        ("a1,\n b2,\n", ["a1", "b2"]),
    ],
)
def test_dependency_syntax(tool: Any, field: str, names: list[str]) -> None:
    assert list(tool.dependencies(field)) == names


def test_a_later_stanza_replaces_an_earlier_one(tool: Any, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("Package: p\nBuild-Depends: a1, b2\n")
    new.write_text("Package: p\nBuild-Depends: c3\n")
    assert tool.read_sources([old, new])[0] == {"p": {"c3"}}


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_files_read_the_same(tool: Any, sources: Path, pack: Any) -> None:
    suffix = {gzip.compress: ".gz", lzma.compress: ".xz"}[pack]
    packed = sources.with_name(f"Sources{suffix}")
    packed.write_bytes(pack(SOURCES.encode()))
    assert tool.read_sources([packed]) == tool.read_sources([sources])


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("librust-libc-0.2+default-dev", "librust-libc-dev"),
        ("librust-libc-dev", "librust-libc-dev"),
        ("librust-libc+std-dev", "librust-libc-dev"),
        ("librust-other-1-dev", "librust-other-1-dev"),  # nothing behind it: stays virtual
        ("ghost-dev", "ghost-dev"),
    ],
)
def test_rust_features_mean_their_package(tool: Any, name: str, real: str) -> None:
    assert tool.real_name(name, {"librust-libc-dev": "rust"}) == real


def test_glue_has_a_reason(tool: Any) -> None:
    depends = {f"s{n}": {"debhelper", "everywhere", "libc-dev"} for n in range(40)}
    depends["s0"] |= {"libghc-x-prof", "perl", "cmake", "ghost", "kept"}
    sections = dict.fromkeys(["everywhere", "kept", "libghc-x-prof", "perl", "cmake"], "misc")
    sections |= {"libc-dev": "libdevel", "debhelper": "devel"}
    assert tool.find_glue(depends, sections) == {
        "debhelper": "packaging helper",
        "everywhere": "in over 5% of all packages",
        "libghc-x-prof": "twin of a library",
        "perl": "language toolchain",
        "cmake": "build system",
        "ghost": "virtual: no section",
    }


def test_the_core_is_iterated(tool: Any) -> None:
    # dropping u3 takes i3 below two, which takes u4 below two
    pairs = {"u1": {"i1", "i2"}, "u2": {"i1", "i2"}, "u3": {"i3"}, "u4": {"i3", "i1"}}
    assert tool.k_core(pairs, 2) == {"u1": {"i1", "i2"}, "u2": {"i1", "i2"}}


def test_build_writes_the_expected_tables_and_the_same_bytes(
    tool: Any, sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = tmp_path / "Others"  # so many that nothing is ubiquitous
    others.write_text("".join(f"Package: other{n}\n\n" for n in range(30)))
    first, second = tmp_path / "first", tmp_path / "second"
    for target in (first, second):
        target.mkdir()
        tool.build([sources, others], target, core=1)
    wanted = ["doxygen", "libextra-dev", "librust-libc-dev", "libsound-dev", "libssl-dev"]
    wanted += ["libx11-dev", "python3-numpy"]
    pairs = pl.read_parquet(first / "interactions.parquet")
    assert pairs.rows() == [("libs", "libsound-dev"), *(("player", item) for item in wanted)]
    table = pl.read_parquet(first / "items.parquet")
    assert table["item"].to_list() == wanted
    sections = "devel libdevel rust libdevel libdevel libdevel python"
    assert " ".join(table["category"]) == sections
    for name in ("interactions.parquet", "items.parquet"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    told = capsys.readouterr().out
    assert "left out, packaging helper: 1 items, 1 pairs: debhelper-compat (1)" in told
    assert "ghost-dev (1)" in told
