"""A command that stands still at a certain place, so that it can be ended there and nowhere else.

Ending it after some seconds, or when a file appears, is a race: on a busy machine the command may
have finished by then.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

_HELD = """
import glob, os, sys, time

pattern, text, count = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
del sys.argv[1:4]

def found():
    paths = glob.glob(pattern)
    if not text:
        return len(paths)
    return sum(open(path, "rb").read().count(text) for path in paths)

inside = False

def hold(event, arguments):
    global inside
    if inside or event not in ("open", "os.rename"):
        return
    inside = True
    if found() >= count:
        os.write(1, b"held\\n")
        time.sleep(3600)
    inside = False

from xorec.cli.main import main
sys.addaudithook(hold)
main()
"""


def held_command(
    words: list[Any], pattern: Path, *, count: int = 1, text: str = "", cwd: Path | None = None
) -> subprocess.Popen[str]:
    """`xorec` with these words. It stands still where it opens or renames the next file after so
    many files of the pattern are there, or the text so many times in them; returns then."""
    command = [sys.executable, "-c", _HELD, str(pattern), text, str(count), *map(str, words)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said == "held\n", (said, process.communicate())
    return process
