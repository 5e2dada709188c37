"""The private PostgreSQL of the tests: kept through kill -9, and gone at the end."""

from __future__ import annotations

import pytest

from tests.support.postgresql import KINDS, PASSWORD, start, unavailable

pytestmark = pytest.mark.database


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_lives_dies_and_comes_back(kind: str) -> None:
    server, reason = start(kind)
    if server is None:
        pytest.skip(reason)
    import psycopg

    with server:
        address = server.new_database("shop")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")
            version = connection.info.server_version // 10000
            assert version == 18 if kind == "wheel" else version >= 14
            server.kill()
            assert not server.running
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        server.start()
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT seven FROM kept").fetchone() == (7,)
        with psycopg.connect(server.address_of("shop", password=PASSWORD)) as connection:
            assert connection.execute("SELECT seven FROM kept").fetchone() == (7,)
        for wrong in ("", "wrong"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(server.address_of("shop", password=wrong))
        if kind == "wheel":
            with psycopg.connect(address) as connection:
                connection.execute("CREATE EXTENSION vector")
                query = "SELECT B'0110' <~> B'0000'"
                assert connection.execute(query).fetchone() == (2.0,)
    assert not server.folder.exists()
    assert not server.running


def test_what_there_is_not_is_said() -> None:
    server, reason = start("oracle")
    assert server is None
    assert "oracle" in reason


def test_a_server_that_cannot_start_says_why() -> None:
    kind = next((kind for kind in KINDS if not unavailable(kind)), None)
    if kind is None:
        pytest.skip(unavailable(KINDS[0]))
    server, reason = start(kind, {"no_such_setting": "1"})
    assert server is None
    assert "no_such_setting" in reason
