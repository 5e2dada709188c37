"""Build the embedded data set `debian`: Debian's source packages and what they build on.

Users are source packages, items are the packages they need in order to be built, and an item's
category is its section of the archive. Everything comes from the `Sources` index of the archive:

    python tools/build_debian.py Sources.xz            # plain, .gz, .xz; .lz4 through apt
    python tools/build_debian.py --apt                 # let apt fetch the index of this machine

The same input gives the same bytes. What is left out, and why, is printed.
"""

from __future__ import annotations

import argparse
import gzip
import io
import lzma
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

TARGET = Path(__file__).resolve().parent.parent / "src" / "xorec" / "data" / "datasets" / "embedded"
CORE = 5
UBIQUITOUS = 0.05

# What says HOW a package is built and not WHAT it is built on: nearly every package of a language
# has it, so it cannot tell two packages apart, and it would head every list of recommendations.
# Libraries stay however popular they are, and so do the tools that tell a package's kind: parser
# generators, rarer compilers, test libraries, documentation and translation tools.
GLUE = {
    "packaging helper": """
        debhelper debhelper-compat dh-* cdbs dpkg-dev quilt po-debconf devscripts fakeroot
        lsb-release config-package-dev chrpath rdfind jdupes symlinks hardening-wrapper
        *-pkg-tools pkg-*-tools *-debian-helper maven-repo-helper javahelper gem2deb*
        haskell-devscripts* pybuild-plugin-* perl-xs-dev""",
    "build system": """
        pkg-config pkgconf cmake cmake-* extra-cmake-modules meson ninja-build make autoconf*
        automake* autotools-dev libtool* python3-setuptools* python3-wheel python3-pip
        python3-distutils python3-poetry* flit libmodule-build-perl libmodule-build-tiny-perl
        libmodule-install-perl""",
    "language toolchain": """
        perl perl-base python3 python3-all python3-all-dev golang golang-any golang-go cargo rustc
        libstd-rust-dev ghc ghc-* default-jdk* openjdk-* r-base-dev r-base-core nodejs ruby
        ruby-all-dev""",
    # packaged Haskell names each library three times: -dev, -prof and -doc
    "twin of a library": "libghc-*-prof libghc-*-doc",
}

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_PROFILES = re.compile(r"<([^>]*)>")
_RUST = re.compile(r"(librust-.+?)(?:-\d[\d.]*)?(?:\+[a-z0-9+.-]+?)?-dev")
_FIELDS = ("Build-Depends", "Build-Depends-Indep", "Build-Depends-Arch")

Pairs = dict[str, set[str]]


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a Sources file, whatever it is packed with."""
    if path.suffix == ".lz4":
        command = ["/usr/lib/apt/apt-helper", "cat-file", str(path)]
        data = subprocess.run(command, check=True, capture_output=True).stdout
    else:
        unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
        data = unpack(path.read_bytes())
    yield from io.StringIO(data.decode())


def stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """The stanzas of a control file; folded lines are joined by newlines, comments skipped."""
    fields: dict[str, str] = {}
    name = ""
    for line in map(str.rstrip, lines):
        if line.startswith("#"):
            continue
        if not line:
            if fields:
                yield fields
            fields, name = {}, ""
        elif line[0] in " \t":
            fields[name] = f"{fields[name]}\n{line}"
        else:
            name, _, value = line.partition(":")
            fields[name] = value
    if fields:
        yield fields


def dependencies(field: str) -> Iterator[str]:
    """The package names in a Build-Depends field: the first alternative, without conditions.

    A dependency that holds in a special build profile only (`<cross>`) is not one of the normal
    build and is left out; `<!nocheck>` and the like mean the normal build and stay.
    """
    for clause in field.split(","):
        first = clause.split("|")[0].strip()
        profiles = [formula.split() for formula in _PROFILES.findall(first)]
        if profiles and not any(all(p.startswith("!") for p in terms) for terms in profiles):
            continue
        match = _NAME.match(first)
        if match:
            yield match[0]


def read_sources(paths: Iterable[Path]) -> tuple[Pairs, dict[str, str]]:
    """(source package -> what it builds on, binary package -> section); the last stanza counts."""
    depends: Pairs = {}
    sections: dict[str, str] = {}
    for path in paths:
        for fields in stanzas(lines_of(path)):
            if fields.get("Extra-Source-Only", "").strip() == "yes":
                continue  # an old version, kept for licence reasons
            for line in fields.get("Package-List", "").splitlines():
                words = line.split()
                if len(words) >= 4 and words[1] == "deb":
                    sections[words[0]] = words[2].rpartition("/")[2]
            source = fields["Package"].strip()
            depends[source] = {n for f in _FIELDS for n in dependencies(fields.get(f, ""))}
    return depends, sections


def real_name(name: str, sections: dict[str, str]) -> str:
    """The package behind a versioned Rust feature (librust-libc-0.2+default-dev), or the name."""
    match = _RUST.fullmatch(name)
    if name not in sections and match and f"{match[1]}-dev" in sections:
        return f"{match[1]}-dev"
    return name


def find_glue(depends: Pairs, sections: dict[str, str]) -> dict[str, str]:
    """What is not a thing to recommend: item -> the reason."""
    counts = Counter(item for items in depends.values() for item in items)
    patterns = [(p, reason) for reason, listed in GLUE.items() for p in listed.split()]
    reasons: dict[str, str] = {}
    for item, count in counts.items():
        listed = next((reason for p, reason in patterns if fnmatchcase(item, p)), None)
        if listed is not None:
            reasons[item] = listed
        elif item not in sections:
            reasons[item] = "virtual: no section"
        elif count > UBIQUITOUS * len(depends) and sections[item] != "libdevel":
            reasons[item] = f"in over {UBIQUITOUS:.0%} of all packages"
    return reasons


def k_core(pairs: Pairs, k: int) -> Pairs:
    """The largest part in which every user and every item has at least `k` pairs."""
    while True:
        counts = Counter(item for items in pairs.values() for item in items)
        kept = {u: {i for i in items if counts[i] >= k} for u, items in pairs.items()}
        kept = {u: items for u, items in kept.items() if len(items) >= k}
        if kept == pairs:
            return kept
        pairs = kept


def build(paths: Iterable[Path], target: Path, core: int = CORE) -> None:
    """Read the Sources files and write interactions.parquet and items.parquet into `target`."""
    depends, sections = read_sources(paths)
    depends = {u: {real_name(i, sections) for i in items} for u, items in depends.items()}
    glue = find_glue(depends, sections)
    report(depends, glue)
    pairs = k_core({u: {i for i in s if i not in glue} for u, s in depends.items()}, core)
    rows = sorted((user, item) for user, items in pairs.items() for item in items)
    items = sorted({item for _, item in rows})
    text = {"user": pl.String, "item": pl.String}
    write(pl.DataFrame(rows, schema=text, orient="row"), target / "interactions.parquet")
    table = {"item": items, "category": [sections[item] for item in items]}
    write(pl.DataFrame(table, schema_overrides={"item": pl.String}), target / "items.parquet")
    print(f"{core}-core: {len(pairs):,} users x {len(items):,} items, {len(rows):,} pairs")


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write one table, as small as it gets."""
    frame.write_parquet(path, compression="zstd", compression_level=22, statistics=False)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def report(depends: Pairs, glue: dict[str, str]) -> None:
    """Print what was read and what is left out, the most used first."""
    counts = Counter(item for items in depends.values() for item in items)
    print(f"read: {len(depends):,} sources x {len(counts):,} items, {counts.total():,} pairs")
    for reason in dict.fromkeys(glue[i] for i, _ in counts.most_common() if i in glue):
        names = [item for item, _ in counts.most_common() if glue.get(item) == reason]
        total = sum(counts[name] for name in names)
        shown = ", ".join(f"{name} ({counts[name]})" for name in names[:12])
        more = f", and {len(names) - 12} more" if len(names) > 12 else ""
        print(f"left out, {reason}: {len(names)} items, {total:,} pairs: {shown}{more}")


def fetch_with_apt(folder: Path) -> list[Path]:
    """Let apt fetch the source index that belongs to this machine's own Debian entries."""
    parts, lists = folder / "sources.list.d", folder / "lists"
    for made in (parts, lists / "partial", folder / "cache"):
        made.mkdir(parents=True)
    etc = Path("/etc/apt")
    for entry in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.[ls]*"))]:
        if entry.suffix in (".list", ".sources") and entry.exists():
            text = re.sub(r"(?m)^deb\s", "deb-src ", entry.read_text())
            text = re.sub(r"(?m)^Types:.*", "Types: deb-src", text)
            (parts / entry.name).write_text(text)
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": parts,
        "Dir::State::lists": lists,
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "",
    }
    command = ["apt-get", *(f"-o{name}={value}" for name, value in options.items())]
    subprocess.run([*command, "-qq", "update"], check=True)
    wanted = ["Created-By: Sources", "Origin: Debian", "Component: main"]
    asked = [*command, "indextargets", "--format", "$(FILENAME)", *wanted]
    found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return [Path(line) for line in found.splitlines()]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="*", type=Path, help="Sources files: plain, gz, xz, lz4")
    parser.add_argument("--apt", action="store_true", help="fetch the index with apt")
    parser.add_argument("--target", type=Path, default=TARGET, help="where the two files go")
    options = parser.parse_args()
    if bool(options.sources) == options.apt:
        parser.error("give Sources files, or --apt")
    with tempfile.TemporaryDirectory() as folder:
        build(fetch_with_apt(Path(folder)) if options.apt else options.sources, options.target)


if __name__ == "__main__":
    main()
