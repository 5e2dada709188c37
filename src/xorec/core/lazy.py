"""A property that is made when it is first asked for, once, however many threads ask."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_property(Generic[T]):  # noqa: N801 - used as a decorator, like functools.cached_property
    """`functools.cached_property` with a lock for each object (Python 3.12 has none).

    The value is kept under the property's name in the object's `__dict__`, so that later look-ups
    cost nothing. Properties of one object may ask for each other.

    >>> class Circle:
    ...     radius = 2
    ...     @lazy_property
    ...     def area(self) -> float:
    ...         print("computed")
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> circle.area + circle.area
    computed
    24
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> lazy_property[T] | T:
        if instance is None:
            return self
        values = vars(instance)
        with values.setdefault("_lazy_lock", RLock()):
            if self._name not in values:
                values[self._name] = self._make(instance)
            found: T = values[self._name]
            return found
