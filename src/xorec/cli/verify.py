"""xorec verify: whether a model file is whole and signed by a key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xorec.cli import arguments as args


def verify(
    model: args.ModelFile,
    key: Annotated[Path, typer.Option(help="The public key of its maker: NAME.pub.")],
) -> None:
    """Verify that MODEL is signed by a key, and that all its bytes and values are right.

    Exit code 0 if so, else 2 and a line that says why.
    """
    from xorec.cli.output import print_line
    from xorec.recommender.recommender import Recommender

    Recommender.load(model, verify=True, key=key)
    print_line(f"{model} is signed by {key}; its digest and its values are right.")
