"""xorec sign and xorec verify: signatures of model files, and keys for them."""

from __future__ import annotations

from pathlib import Path

from xorec.cli import arguments as args
from xorec.cli.output import print_line
from xorec.core.errors import OptionError


@args.bundled
def sign(
    *,
    model: Path | None = args.argument(None, "The model file to sign."),
    key: Path | None = args.option(None, "Your private key: NAME.key."),
    new_key: str | None = args.option(
        None, "Instead: make the keys NAME.key (private) and NAME.pub."
    ),
) -> None:
    """Sign MODEL: write MODEL.sig beside it, which `xorec verify` checks. MODEL stays as it is."""
    from xorec.recommender import signing

    if new_key is not None and model is None and key is None:
        private, public = signing.new_key(new_key)
        print_line(f"{private} is yours alone; give {public} to those who verify.")
    elif model is not None and key is not None and new_key is None:
        print_line(f"{signing.sign(model, key)} signs {model}.")
    else:
        raise OptionError("say what to sign: give MODEL and --key NAME.key, or --new-key NAME.")


@args.bundled
def verify(
    *,
    model: args.ModelFile,
    key: Path = args.option(..., "The public key of its maker: NAME.pub."),
) -> None:
    """Verify that MODEL is signed by a key, and that all its bytes and values are right.

    Exit code 0 if so, else 2 and a line that says why.
    """
    from xorec.recommender.recommender import Recommender

    Recommender.load(model, verify=True, key=key)
    print_line(f"{model} is signed by {key}; its digest and its values are right.")
