"""Frames to a file, one after the other: memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.core.files import system_errors

if TYPE_CHECKING:
    import polars as pl


def write_frames(
    frames: Iterator[pl.DataFrame], schema: Any, path: Path, *, csv: bool = False
) -> None:
    """Write frames of one schema to a Parquet file (or CSV), as they come.

    What `frames` raises comes out as it is; what the system says of the file as OSError.

    >>> import tempfile
    >>> import polars as pl
    >>> parts = [pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_frames(iter(parts), parts[0].schema, Path(folder) / "a.parquet")
    ...     pl.read_parquet(f"{folder}/a.parquet")["a"].to_list()
    [1, 2]
    """
    from polars.exceptions import PolarsError
    from polars.io.plugins import register_io_source

    ours: list[BaseException] = []

    def source() -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except BaseException as error:  # polars would tell of it in its own words
            ours.append(error)
            raise

    with system_errors(PolarsError, OSError):
        lazy = register_io_source(lambda *_: source(), schema=schema, is_pure=False)
        try:
            (lazy.sink_csv if csv else lazy.sink_parquet)(path, maintain_order=True)
        except Exception as error:
            raise (ours or [error])[0] from None
