from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from xorec.core.errors import XorecError
from xorec.service.events.sequence import SIZE, SharedSequence

READ = (
    "import sys; from pathlib import Path; "
    "from xorec.service.events.sequence import SharedSequence; "
    "print(SharedSequence(Path(sys.argv[1])).value)"
)


@pytest.mark.process
def test_other_processes_see_it_and_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "sequence"
    sequence = SharedSequence(path)
    assert sequence.value == 0
    follower = SharedSequence(path)
    for seq in (1, 255, 256, 2**32, 2**53 + 1):
        sequence.publish(seq)
        assert follower.value == seq
    command = [sys.executable, "-c", READ, str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert int(told) == 2**53 + 1
    sequence.close()
    follower.close()
    assert path.stat().st_size == SIZE
    assert int.from_bytes(path.read_bytes()[:8], "little") == 2**53 + 1
    again = SharedSequence(path)
    assert again.value == 2**53 + 1
    again.close()


def test_a_full_disk_is_told_at_the_start_and_does_no_harm_later(small_disk: Path) -> None:
    sequence = SharedSequence(small_disk / "sequence")
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(bytes(1 << 22))
    sequence.publish(7)
    assert sequence.value == 7
    sequence.close()
    with pytest.raises(XorecError, match=r"no space left on the disk of .*another"):
        SharedSequence(small_disk / "another")


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(XorecError, match=r"cannot write .*sequence"):
        SharedSequence(tmp_path / "nowhere" / "sequence")


def test_several_threads_may_advance_it_and_it_never_goes_back(tmp_path: Path) -> None:
    sequence = SharedSequence(tmp_path / "sequence")
    sequence.publish(9)
    for seq in (7, 12, 3):
        sequence.advance(seq)
    assert sequence.value == 12
    sequence.publish(4)  # a log that begins anew
    assert sequence.value == 4
    sequence.close()
