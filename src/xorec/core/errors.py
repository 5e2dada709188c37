"""The one family of errors that a user can mend.

Every message names the value, the place (file, column, row) where there is one, and the way
out. The command line prints it as one line and exits with code 2; the library just raises.
"""

from xorec.core.printable import message_text


class XorecError(Exception):
    """Base of every error that xorec raises on purpose.

    >>> import xorec
    >>> try:
    ...     xorec.read("no-such-file.csv")
    ... except xorec.XorecError as error:
    ...     print(type(error).__name__)
    DataError

    Its text is bounded and safe to show, whatever the data has put into it.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(message_text(str(message)))


class DataError(XorecError):
    """Interactions that cannot be used: a missing file or column, empty ids, nothing left."""


class OptionError(XorecError, ValueError):
    """A setting outside its legal range, or a name that does not exist."""


class UnknownIdError(XorecError, LookupError):
    """A user or item that the model has never seen."""


class ModelFileError(XorecError):
    """A model file that is corrupt, truncated, foreign or from a newer xorec."""


class StoreError(XorecError):
    """A database or a file of exported codes that cannot be reached, written or understood."""


class NotFittedError(XorecError):
    """A model that was asked for what it learns before `fit`."""


class MissingExtraError(XorecError, ImportError):
    """An optional dependency that is not installed; the message says which extra has it."""
