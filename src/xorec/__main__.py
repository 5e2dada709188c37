"""The `xorec` command: where its script and `python -m xorec` begin."""

import _signal  # what `signal` is made of: that one takes milliseconds to import


def main() -> None:
    """Let Ctrl-C end the process quietly while the command is being imported; then run it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from xorec.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
