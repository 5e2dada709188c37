"""How work is cut into blocks, and into how many jobs of Spark: by the engine's own rules."""

from __future__ import annotations

FIRST_WAVE, WAVE_GROWTH, WAVE_BYTES, RESULT_RATIO = 2, 8, 256 << 20, 4
"""As in `engines.spark.engine`: its tests hold them against each other."""


def row_blocks(rows: int, least: int = 256) -> int:
    """Blocks of so many rows.

    >>> row_blocks(600)
    3
    """
    size = least
    while size * 1024 < rows:
        size *= 2
    return -(-rows // size)


def waves(blocks: int, partitions: int, block_result: int) -> int:
    """Jobs of blocks that are not placed: `SparkEngine.map_blocks`, with equal results.

    >>> waves(625, 2, 20_000)
    4
    """
    count, size = 0, FIRST_WAVE * partitions
    while blocks > 0:
        count += 1
        blocks -= size
        size = min(max(partitions, WAVE_BYTES // max(1, block_result)), WAVE_GROWTH * size)
    return count


def placed_waves(blocks: int, partitions: int, sent: int, result: int) -> int:
    """Jobs of blocks that are placed, of so many bytes together and with such results.

    >>> placed_waves(611, 2, 450 << 20, 1300 << 20), placed_waves(40, 2, 1 << 20, 2 << 20)
    (6, 1)
    """
    count, done, largest = 0, 0, RESULT_RATIO * sent // max(1, blocks)
    while done < max(1, blocks):
        count += 1
        done += max(FIRST_WAVE * partitions, WAVE_BYTES // max(1, largest))
        largest = result // max(1, blocks)
    return count
