"""`python -m xorec` is the `xorec` command."""

from xorec.cli.main import main

main()
