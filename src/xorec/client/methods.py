"""Methods made of functions that make requests: one signature and one docstring for both."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def method_of(method: F, make: Callable[..., Any]) -> F:
    """`method` with the name and the parameters of `make`, and what its docstring says before
    the example (which is of the request).

    >>> def ask(item, k=10):
    ...     "Ask for an item."
    >>> method = method_of(lambda self, *args, **kwargs: None, ask)
    >>> inspect.signature(method), method.__doc__
    (<Signature (self, item, k=10)>, 'Ask for an item.')
    """
    signature = inspect.signature(make)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    made: Any = method
    made.__name__ = make.__name__
    made.__doc__ = (make.__doc__ or "").partition(">>> ")[0].rstrip()
    made.__signature__ = inspect.Signature([first, *signature.parameters.values()])
    return method
