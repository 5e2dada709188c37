"""xorec sign: a signature beside a model file, or a new pair of keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xorec.core.errors import OptionError


def sign(
    model: Annotated[Path | None, typer.Argument(help="The model file to sign.")] = None,
    key: Annotated[Path | None, typer.Option(help="Your private key: NAME.key.")] = None,
    new_key: Annotated[
        str | None, typer.Option(help="Instead: make the keys NAME.key (private) and NAME.pub.")
    ] = None,
) -> None:
    """Sign MODEL: write MODEL.sig beside it, which `xorec verify` checks. MODEL stays as it is."""
    from xorec.cli.output import print_line
    from xorec.recommender import signing

    if new_key is not None and model is None and key is None:
        private, public = signing.new_key(new_key)
        print_line(f"{private} is yours alone; give {public} to those who verify.")
    elif model is not None and key is not None and new_key is None:
        print_line(f"{signing.sign(model, key)} signs {model}.")
    else:
        raise OptionError("say what to sign: give MODEL and --key NAME.key, or --new-key NAME.")
