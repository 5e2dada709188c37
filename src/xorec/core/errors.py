"""Exceptions of xorec: errors that a user can mend.

A message names the value, its file, column and row if known, and what to do. The command line
prints it as one line and exits with code 2.
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
    """Interactions that cannot be used: a missing file or column, empty ids, nothing left.

    >>> import xorec
    >>> xorec.read([])
    Traceback (most recent call last):
    xorec.core.errors.DataError: the list of pairs is empty: give (user, item) pairs.
    """


class OptionError(XorecError, ValueError):
    """A setting outside its legal range, or a name that does not exist.

    >>> import xorec
    >>> xorec.BPR(epochs=0)
    Traceback (most recent call last):
    xorec.core.errors.OptionError: bpr: epochs is 0: input should be greater than or equal to 1.
    """


class UnknownIdError(XorecError, LookupError):
    """A user or item that the model has never seen.

    >>> from xorec.testing.examples import shop
    >>> try:
    ...     shop().recommend("zoe")
    ... except UnknownIdError:
    ...     print(shop().recommend_for(["tea"], k=1).ids())
    ['milk']
    """


class ModelFileError(XorecError):
    """A model file that is missing, corrupt, truncated, foreign or from a newer xorec.

    >>> import xorec
    >>> xorec.Recommender.load("no-such-file.xorec")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    xorec.core.errors.ModelFileError: there is no model file no-such-file.xorec: ...
    """


class StoreError(XorecError):
    """A database or a file of exported codes that cannot be reached, written or understood.

    >>> from xorec.stores.registry import open_store
    >>> open_store("no-such-file.npy").recommend("ann")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    xorec.core.errors.StoreError: there is no export in no-such-file.npy: write one with ...
    """


class NotFittedError(XorecError):
    """A model that was asked for what it learns before `fit`.

    >>> import xorec
    >>> xorec.BPR().item_vectors
    Traceback (most recent call last):
    xorec.core.errors.NotFittedError: BPR has learned nothing yet: call fit first.
    """


class MissingExtraError(XorecError, ImportError):
    """An optional dependency that is not installed; the message says which extra has it.

    >>> raise MissingExtraError("tuning needs Optuna: pip install 'xorec[tune]'.")
    Traceback (most recent call last):
    xorec.core.errors.MissingExtraError: tuning needs Optuna: pip install 'xorec[tune]'.
    """
