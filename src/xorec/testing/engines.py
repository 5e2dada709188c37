"""The kit of engines: the same results, in the same order, from every engine, for any cut.

Its block functions are of a module, so that other processes find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.engine import Arrays, BlockFunction, Blocks, Engine, LocalEngine, Shared
from xorec.core.errors import DataError


def scaled(block: Arrays, shared: Arrays, plus: int = 0) -> Arrays:
    """x times the shared number, plus a setting."""
    return {"y": block["x"] * shared["by"] + plus}


def bytes_of_file(block: Arrays, shared: Arrays) -> Arrays:
    """What stands in the shared file, x bytes from its beginning."""
    return {"y": np.fromfile(str(shared["file"]), np.uint8, int(block["x"]))}


def by_remainder(block: Arrays, shared: Arrays, count: int) -> Iterator[tuple[int, Arrays]]:
    """The numbers of a block by their remainder."""
    for target in range(count):
        yield target, {"x": block["x"][block["x"] % count == target]}


def failing(block: Arrays, shared: Arrays, **settings: Any) -> Arrays:
    """Refuses its block."""
    numbers = sum(len(array) for array in block.values())
    raise DataError(f"there are {numbers} numbers in this block: give none.")


def float_sums(block: Arrays, shared: Arrays) -> Arrays:
    """A float32 product, for equal bytes."""
    return {"y": np.asarray(block["x"], np.float32) @ np.asarray(shared["m"], np.float32)}


def scaled_again(block: Arrays, shared: Arrays) -> Arrays:
    """The same as a block for another call."""
    return {"x": block["x"] * shared["by"]}


class InProcess(LocalEngine):
    """Passes for remote, so that work is handed over as to other processes, and does it here.

    sent: the blocks of every call.
    """

    name = "in-process"
    is_remote = True

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.sent: list[list[Arrays]] = []

    def map_blocks(
        self,
        function: BlockFunction,
        blocks: Blocks | Iterable[Arrays],
        shared: Sequence[Shared | Arrays] = (),
        /,
        **settings: Any,
    ) -> Iterator[Arrays]:
        self.sent.append(list(blocks))  # type: ignore[arg-type]
        return super().map_blocks(function, self.sent[-1], shared, **settings)


class EngineKit:
    """Subclass it with a fixture `engine`."""

    def test_results_are_in_the_order_of_the_blocks(self, engine: Engine) -> None:
        for count in (0, 1, 2, 7, 23):
            blocks = [{"x": np.arange(at % 4) + at} for at in range(count)]
            made = engine.map_blocks(scaled, blocks, [{"by": np.array([3])}], plus=1)
            expected = [3 * block["x"] + 1 for block in blocks]
            assert [one["y"].tolist() for one in made] == [one.tolist() for one in expected]

    def test_placed_blocks_serve_several_calls(self, engine: Engine) -> None:
        placed = engine.place([{"x": np.arange(3) + at} for at in range(5)])
        assert len(placed) == 5
        for by in (1, 10):
            made = list(engine.map_blocks(scaled, placed, [{"by": np.array([by])}]))
            assert [int(one["y"][0]) for one in made] == [by * at for at in range(5)]
        engine.release(placed)

    def test_shared_arrays_of_several_origins_are_one(self, engine: Engine) -> None:
        with engine.share({"by": np.array([2]), "m": np.eye(2)}) as kept:
            for by in (5, 7):
                (made,) = engine.map_blocks(
                    scaled, [{"x": np.array([1])}], [kept, {"by": np.array([by])}]
                )
                assert made["y"].tolist() == [by]
            (made,) = engine.map_blocks(scaled, [{"x": np.array([1])}], [kept])
            assert made["y"].tolist() == [2]

    def test_a_shared_file_is_where_its_path_says(self, engine: Engine, tmp_path: Path) -> None:
        path = tmp_path / "two words.txt"
        path.write_bytes(b"tea and milk")
        blocks = [{"x": np.array(count)} for count in (3, 12)]
        with engine.share_file("file", path) as kept:
            for _ in range(2):
                made = engine.map_blocks(bytes_of_file, blocks, [kept, {"by": np.array([2])}])
                assert [one["y"].tobytes() for one in made] == [b"tea", b"tea and milk"]
        assert path.read_bytes() == b"tea and milk"

    def test_exchange_joins_parts_in_the_order_of_the_old_blocks(self, engine: Engine) -> None:
        blocks = [{"x": np.arange(9) + 10 * at} for at in range(4)]
        made = _numbers(engine, engine.exchange(by_remainder, engine.place(blocks), 3, (), count=3))
        everything = np.concatenate([block["x"] for block in blocks])
        assert made == [everything[everything % 3 == at].tolist() for at in range(3)]

    def test_some_of_the_placed_blocks(self, engine: Engine) -> None:
        placed = engine.place([{"x": np.array([at])} for at in range(11)])
        for step, start in ((3, 1), (4, 0), (2, 9), (20, 5)):
            chosen = engine.every(placed, step, start)
            wanted = [[at] for at in range(11)][start::step]
            assert len(chosen) == len(wanted)
            assert _numbers(engine, chosen) == wanted

    def test_types_shapes_and_empty_arrays_survive(self, engine: Engine) -> None:
        block = {"x": np.zeros((0, 3), dtype=np.float32)}
        (made,) = engine.map_blocks(float_sums, [block], [{"m": np.ones((3, 2))}])
        assert made["y"].shape == (0, 2)
        assert made["y"].dtype == np.float32

    def test_float_results_are_those_of_threads_to_the_last_bit(self, engine: Engine) -> None:
        numbers = np.random.default_rng(5).standard_normal((7, 50, 33))
        blocks: list[Arrays] = [{"x": one} for one in numbers]
        shared: list[Arrays] = [{"m": np.random.default_rng(6).standard_normal((33, 20))}]
        one = list(LocalEngine(1).map_blocks(float_sums, blocks, shared))
        other = list(engine.map_blocks(float_sums, blocks, shared))
        for mine, theirs in zip(one, other, strict=True):
            assert mine["y"].tobytes() == theirs["y"].tobytes()

    def test_an_error_of_a_block_is_raised_as_it_is(self, engine: Engine) -> None:
        with pytest.raises(DataError, match="there are 3 numbers in this block: give none"):
            list(engine.map_blocks(failing, [{"x": np.arange(3)}]))
        (made,) = engine.map_blocks(scaled, [{"x": np.array([1])}], [{"by": np.array([4])}])
        assert made["y"].tolist() == [4]  # and the engine goes on

    def test_transformed_blocks_are_placed_as_the_old_ones_were(self, engine: Engine) -> None:
        placed = engine.place([{"x": np.arange(2) + at, "y": np.zeros(1)} for at in range(5)])
        twice = engine.transform(scaled_again, placed, [{"by": np.array([2])}])
        assert len(twice) == 5
        made = engine.map_blocks(scaled, twice, [{"by": np.array([5])}])
        assert [int(one["y"][1]) for one in made] == [10 * (at + 1) for at in range(5)]
        engine.release(twice)


def _numbers(engine: Engine, blocks: Any) -> list[list[int]]:
    made = engine.map_blocks(scaled, blocks, [{"by": np.array([1])}])
    return [one["y"].tolist() for one in made]
