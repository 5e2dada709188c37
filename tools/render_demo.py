"""Draw what `xorec demo` prints as docs/images/demo.svg, the picture in the README.

python tools/render_demo.py
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

TARGET = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "xorec", "demo", "--quiet"]
        shown = subprocess.check_output(command, cwd=folder, text=True)
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text("$ make demo", style="bold green"))
    console.print(Text(shown.rstrip()))
    picture = console.export_svg(title="xorec demo")
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # no web fonts
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(picture)
    print(f"{TARGET}: {len(picture):,} characters")


if __name__ == "__main__":
    main()
