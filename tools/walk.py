"""Walk with a command through the house: which files it passes, and how often it changes rooms.

    python tools/walk.py recommend shop.xorec --user 4711
    python tools/walk.py --brief fit debian --model dsiml -o /tmp/m.xorec

Runs `xorec` with these words, notes every call of a function of ours from another (each pair of
functions once), and prints the files in the order in which they are entered, then the counts. A
re-entry is a call into a room that the command has been in before, from another room.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import xorec
from xorec.cli.main import main

ROOT = f"{Path(xorec.__file__).parent}/"
Call = tuple[str | None, str, str]


class Walk:
    """The calls between functions of ours, each once, in order: (from file, to file, function)."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._met: set[tuple[Any, Any]] = set()

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """For `sys.setprofile`."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT) or code.co_name == "<module>":
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if is_import(frame):
            return  # what happens once, while a file is imported
        key = (None if caller is None else caller.f_code, code)
        if key not in self._met:
            self._met.add(key)
            source = None if caller is None else caller.f_code.co_filename
            self.calls.append((source, code.co_filename, code.co_name))

    def files(self) -> dict[str, list[str]]:
        """The functions called in each file, files in the order in which they were entered."""
        found: dict[str, list[str]] = {}
        for _, file, function in self.calls:
            names = found.setdefault(file.removeprefix(ROOT), [])
            if function not in names:
                names.append(function)
        return found

    def re_entries(self) -> int:
        """Calls from one room into another that was visited before."""
        seen: set[str] = set()
        count = 0
        for source, file, _ in self.calls:
            if source is not None and room(source) != room(file):
                count += room(file) in seen
            seen.add(room(file))
        return count


def is_import(frame: FrameType | None) -> bool:
    """Whether a module of ours is being imported below this frame."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(ROOT):
            return True
        frame = frame.f_back
    return False


def room(file: str) -> str:
    """The folder right under the package."""
    return file.removeprefix(ROOT).split("/")[0]


def run(words: list[str], brief: bool) -> None:
    """Run the command, then print its walk to standard error."""
    walk = Walk()
    sys.argv = ["xorec", *words]
    threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    try:
        main()
    except SystemExit as end:
        if end.code:
            print("the command failed: this is the walk to the error", file=sys.stderr)
    finally:
        sys.setprofile(None)
    files = walk.files()
    if not brief:
        for file, functions in files.items():
            named = [name for name in functions if not name.startswith("<")]
            more = f" and {len(named) - 6} more" if len(named) > 6 else ""
            print(f"{file:45} {', '.join(named[:6])}{more}", file=sys.stderr)
    print(f"{len(files)} files, {walk.re_entries()} re-entries of a room", file=sys.stderr)


if __name__ == "__main__":
    run([word for word in sys.argv[1:] if word != "--brief"], "--brief" in sys.argv)
