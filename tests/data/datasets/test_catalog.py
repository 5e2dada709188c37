"""Names of data sets: what they mean, how they get here, what the command line tells; debian."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import io
import json
import re
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from xorec.cli.data import app
from xorec.core.errors import DataError, OptionError
from xorec.core.paths import user_cache
from xorec.data.datasets.catalog import (
    CATALOG,
    EMBEDDED,
    cache_folder,
    fetch_data,
    find,
    load_data,
)
from xorec.data.interactions import Interactions
from xorec.data.io.read import as_interactions
from xorec.data.split import split

Publish = Callable[..., Path]

TABLE = "1,242,3.5,978300760\n1,302,4,978302109\n2,242,5,978301968\n"
RATINGS = {
    "ml-100k": ("u.data", TABLE.replace(",", "\t")),
    "ml-1m": ("ratings.dat", TABLE.replace(",", "::")),
    "ml-20m": ("ratings.csv", f"userId,movieId,rating,timestamp\n{TABLE}"),
}
FLAGS = "0|0|0|0|0|1|0|0|0|0|0|0|0|0|0|0|0|0|1"
ITEMS = {
    "ml-100k": (
        "u.item",
        f"242|Mis\xe9rables, Les (1997)|24-Jan-1997||http://x|{FLAGS}\n"
        f"302|L.A. Confidential (1997)|01-Jan-1997||http://x|{'0|' * 18}0\n",
    ),
    "ml-1m": (
        "movies.dat",
        "242::Mis\xe9rables, Les (1997)::Comedy|Western\n302::L.A. Confidential (1997)::\n",
    ),
    "ml-20m": (
        "movies.csv",
        'movieId,title,genres\n242,"Mis\xe9rables, Les (1997)",Comedy|Western\n'
        "302,L.A. Confidential (1997),\n",
    ),
}


def item_bytes(name: str) -> bytes:
    return ITEMS[name][1].encode("utf-8" if name == "ml-20m" else "latin-1")


def movielens_zip(name: str) -> bytes:
    """A tiny archive in the layout of that release."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(f"{name}/{RATINGS[name][0]}", RATINGS[name][1])
        file.writestr(f"{name}/{ITEMS[name][0]}", item_bytes(name))
        file.writestr(f"{name}/README", "not wanted")
    return packed.getvalue()


def reviews(*pairs: tuple[str, str]) -> bytes:
    lines = (
        {"reviewerID": user, "asin": item, "overall": 5.0, "unixReviewTime": 1_400_000_000}
        for user, item in pairs
    )
    return gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XOREC_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache"


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publish]:
    """A function that puts a file on a local server and points a catalogue entry at it."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Be quiet."""

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def put(name: str, content: bytes, **changes: Any) -> Path:
            path = folder / (CATALOG[name].url or "").rpartition("/")[2]
            path.write_bytes(content)
            url = f"http://127.0.0.1:{server.server_port}/{path.name}"
            changes = {"checksum": None, "size": None} | changes
            monkeypatch.setitem(CATALOG, name, replace(CATALOG[name], url=url, **changes))
            return path

        yield put
        server.shutdown()
        thread.join()


def test_the_catalogue_is_complete() -> None:
    assert list(CATALOG) == [
        "debian",
        *("ml-100k", "ml-1m", "ml-20m"),
        *("amazon-cds", "amazon-movies", "amazon-books"),
    ]
    for entry in CATALOG.values():
        assert entry.title
        assert entry.terms
        assert entry.citation
        assert 0 < max(entry.users, entry.items) < entry.pairs < entry.users * entry.items
        assert not re.search(r"[/\\.]", entry.name)  # so a path can always be told from a name
        if not entry.embedded:
            assert (entry.url or "").startswith("https://")
            assert re.fullmatch("sha256:[0-9a-f]{64}", entry.checksum or "sha256:" + "0" * 64)
    assert all(CATALOG[name].checksum for name in ("ml-100k", "ml-1m", "ml-20m"))


def test_the_cache_is_where_the_platform_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XOREC_DATA", "/some/where")
    assert cache_folder() == Path("/some/where")
    monkeypatch.delenv("XOREC_DATA")
    assert cache_folder() == user_cache() / "data"


def test_a_name_means_the_catalogue_and_a_path_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("debian").write_text("user,item\nann,tea\n")
    assert load_data("debian").n_users > 1000
    for path in ("./debian", Path("debian"), tmp_path / "debian"):
        assert load_data(path).n_pairs == 1


def test_a_name_will_do_wherever_data_are_taken() -> None:
    parts = split("debian", test=0.2)
    assert len(parts.train) + len(parts.test) == 96_495
    assert as_interactions("debian").digest() == load_data("debian").digest()


def test_unknown_names_are_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file and no data set.*did you mean.*ml-1m"):
        load_data("ml1m")
    with pytest.raises(DataError, match="no such file"):
        load_data("no/such.csv")
    (tmp_path / "verkauf.csv").touch()
    with pytest.raises(DataError, match=r"no such file.* did you mean '.*verkauf\.csv'\?"):
        load_data(tmp_path / "verkuf.csv")
    with pytest.raises(DataError, match=r"no data set 'zzz'; there are debian, ml-100k"):
        find("zzz")


def test_a_data_set_that_is_not_here_says_how_to_get_it() -> None:
    with pytest.raises(DataError, match="run `xorec data fetch ml-1m`"):
        load_data("ml-1m")


def test_a_named_data_set_takes_no_columns() -> None:
    with pytest.raises(OptionError, match="drop user_column"):
        load_data("debian", user_column="u")
    assert load_data("debian", user_column=None).n_pairs == CATALOG["debian"].pairs


@pytest.mark.parametrize("name", list(RATINGS))
def test_movielens_is_fetched_unpacked_and_read(name: str, publish: Publish, cache: Path) -> None:
    content = movielens_zip(name)
    publish(name, content, checksum=f"sha256:{hashlib.sha256(content).hexdigest()}")
    entry = fetch_data(name)
    assert entry.present
    kept = sorted(path.name for path in (cache / name).iterdir())
    assert kept == sorted(["fetched.json", "items.parquet", RATINGS[name][0]])
    data: Any = load_data(name)
    assert (data.n_users, data.n_items, data.n_pairs) == (2, 2, 3)
    assert list(data.items) == [242, 302]
    assert data.ratings is not None
    assert data.times is not None
    assert list(data.names) == ["Misérables, Les (1997)", "L.A. Confidential (1997)"]
    assert [data.categories.of(item) for item in (0, 1)] == [["Comedy", "Western"], []]


def test_a_fetched_data_set_is_not_fetched_again(publish: Publish) -> None:
    served = publish("amazon-cds", reviews(("ann", "b1"), ("bob", "b1")))
    fetch_data("amazon-cds")
    served.unlink()
    assert fetch_data("amazon-cds").present
    with pytest.raises(DataError, match="404"):
        fetch_data("amazon-cds", again=True)
    assert list(load_data("amazon-cds").users) == ["ann", "bob"]


def test_without_a_checksum_the_first_download_is_the_measure(publish: Publish) -> None:
    content = reviews(("ann", "b1"), ("bob", "b2"))
    served = publish("amazon-cds", content)
    entry = fetch_data("amazon-cds")
    assert entry.record["sha256"] == hashlib.sha256(content).hexdigest()
    assert entry.record["bytes"] == entry.bytes == len(content)
    fetch_data("amazon-cds", again=True)
    served.write_bytes(reviews(("eve", "b9")))
    with pytest.raises(DataError, match=f"expected sha256 {entry.record['sha256']}"):
        fetch_data("amazon-cds", again=True)
    assert list(load_data("amazon-cds").users) == ["ann", "bob"]


def test_a_wrong_archive_leaves_nothing_that_can_be_read(publish: Publish) -> None:
    publish("ml-1m", movielens_zip("ml-1m"), checksum="sha256:" + "0" * 64)
    with pytest.raises(DataError, match="bad file was removed"):
        fetch_data("ml-1m")
    publish("ml-1m", b"this is no archive")
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch_data("ml-1m")
    assert not find("ml-1m").present


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "80"}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_list_shows_every_data_set_and_its_state() -> None:
    told = run("list")
    assert re.search(r"debian .*9,157 .*comes with xorec", told)
    assert re.search(r"ml-20m .*20,000,263 .*to be fetched", told)
    rows = json.loads(run("list", "--json"))["rows"]
    assert [row["name"] for row in rows] == list(CATALOG)
    assert [row["present"] for row in rows] == [True] + [False] * 6


def test_info_tells_what_is_in_a_data_set() -> None:
    facts = json.loads(run("info", "debian", "--json"))
    data = load_data("debian")
    sizes = (data.n_users, data.n_items, data.n_pairs)
    assert (facts["users"], facts["items"], facts["pairs"]) == sizes
    assert facts["digest"] == data.digest()
    assert facts["density"] == pytest.approx(data.n_pairs / data.n_users / data.n_items)
    assert facts["pairs_per_user"]["min"] == 5
    assert facts["pairs_per_item"]["max"] == data.item_counts.max()
    categories = facts["categories"]
    assert categories[0]["category"] == "libdevel"
    assert sum(row["pairs"] for row in categories) == data.n_pairs
    assert sum(row["items"] for row in categories) == data.n_items


@pytest.mark.parametrize("name", ["debian", "ml-1m", "amazon-books"])
def test_info_fits_a_terminal(name: str) -> None:
    told = run("info", name)
    assert max(len(line) for line in told.splitlines()) <= 80
    assert CATALOG[name].title in told


def test_info_on_a_file_tells_what_was_guessed(tmp_path: Path) -> None:
    path = tmp_path / "tiny.csv"
    path.write_text("who,what\nann,tea\nbob,tea\nann,rye\n")
    columns = ("--user-column", "who", "--item-column", "what")
    facts = json.loads(run("info", str(path), *columns, "--quiet", "--json"))
    assert (facts["users"], facts["items"], facts["pairs"]) == (2, 2, 3)
    assert facts["user_ids"] == ["ann", "bob"]
    assert facts["item_ids"] == ["tea", "rye"]  # the most popular first
    assert "tiny.csv" in run("info", str(path), *columns, "--quiet")


def test_info_on_what_is_not_here_shows_the_catalogue() -> None:
    told = run("info", "amazon-books")
    assert "8,898,041" in told
    assert "no published checksum" in told
    assert "xorec data fetch amazon-books" in told
    assert json.loads(run("info", "amazon-books", "--json"))["present"] is False


def test_fetch_prints_one_json_object(publish: Publish) -> None:
    publish("amazon-cds", reviews(("ann", "b1")))
    told = json.loads(run("fetch", "amazon-cds", "--quiet", "--json"))
    assert told["present"] is True
    assert Path(told["files"][0]).is_file()
    assert "the first download was trusted" in run("fetch", "amazon-cds", "--quiet")


DIGEST = "7f6bdc94828002f6245dc64802d13e54"


@pytest.fixture(scope="module")
def debian() -> Interactions:
    return load_data("debian")


def test_debian_is_what_the_catalogue_says(debian: Interactions) -> None:
    entry = CATALOG["debian"]
    sizes = (debian.n_users, debian.n_items, debian.n_pairs)
    assert (entry.users, entry.items, entry.pairs) == sizes
    assert min(debian.user_counts.min(), debian.item_counts.min()) == 5
    assert debian.digest() == DIGEST
    assert debian.names is not None
    assert list(debian.names) == list(debian.items)


def test_every_item_has_one_category_and_they_are_imbalanced(debian: Interactions) -> None:
    assert debian.categories is not None
    assert np.diff(debian.categories.indptr).tolist() == [1] * debian.n_items
    assert debian.categories.of(debian.items.find("zlib1g-dev")) == ["libdevel"]
    assert debian.categories.of(debian.items.find("python3-numpy")) == ["python"]
    sizes = np.sort(np.bincount(debian.categories.indices))[::-1]
    assert len(sizes) > 30
    assert sizes[0] > 0.2 * debian.n_items
    assert np.median(sizes) < 0.01 * debian.n_items


def test_debian_is_small_and_loads_at_once(debian: Interactions) -> None:
    """Column by column: fewer steps of Python than a tenth of its pairs, 5,000 or so."""
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 700_000
    steps = 0

    def count(frame: Any, event: str, what: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        again = load_data("debian")
    finally:
        sys.settrace(before)
    assert again.n_pairs == debian.n_pairs
    assert 0 < steps < debian.n_pairs / 10


def test_rows_are_what_the_slow_way_gives(debian: Interactions) -> None:
    pairs = pl.read_parquet(EMBEDDED / "interactions.parquet").rows()
    assert Interactions.from_pairs(reversed(pairs)).digest() == debian.digest()
