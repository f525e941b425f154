"""Results of resampling, cached by the hash of their inputs, so that equal inputs are resampled once.

A function that is decorated here looks for its result in the cache of the context, if `use_results` gave one. The key
is the sha256 of the function's name, all its arguments, the source code of this package and the versions of numpy and
scipy. A call with an argument of a type that is not hashed, such as a numpy Generator, does not use the cache.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar, get_type_hints

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Numbers = TypeVar("Numbers", bound=tuple[Any, ...])
SCALARS = (type(None), bool, int, float, str, np.generic)


class Results(Protocol):
    """Results by the hash of their inputs, such as a dictionary."""

    def get(self, key: str, /) -> Floats | None:
        """Return a result, None if it is not there."""

    def __setitem__(self, key: str, value: Floats, /) -> None:
        """Add a result."""


class _Hash(Protocol):
    """A hash object of hashlib."""

    def update(self, data: Any, /) -> None: ...


_results: ContextVar[Results | None] = ContextVar("results", default=None)


@contextmanager
def use_results(results: Results | None) -> Iterator[None]:
    """Let the decorated functions take results from a mapping and add theirs to it.

    Args:
        results: The results by the hash of their inputs, such as a dictionary; None turns the cache off.

    Returns:
        A context manager.

    Source: own definition.

    >>> from eyechart.realbirdid.statistics.abstention_tradeoff import ua_a
    >>> results = {}
    >>> with use_results(results):
    ...     first, again = (ua_a([0.9, 0.5, 0.1], [True, False, False]).interval() for _ in range(2))
    >>> len(results), first == again
    (1, True)
    """
    token = _results.set(results)
    try:
        yield
    finally:
        _results.reset(token)


def cached_array(function: Callable[Arguments, Floats]) -> Callable[Arguments, Floats]:
    """Return a function that takes its result, an array of float64, from the cache if it is there.

    Args:
        function: A function whose result depends on its arguments alone.

    Returns:
        A function with the same arguments and results; a result is a copy, which the caller may change.

    Raises:
        Exception: Whatever the function raises; nothing is then cached.

    Source: own definition.

    >>> with use_results({}):
    ...     cached_array(np.cumsum)([1.0, 2.0]).tolist()
    [1.0, 3.0]
    """
    return _cached(function, np.copy)


def cached_tuple(function: Callable[Arguments, Numbers]) -> Callable[Arguments, Numbers]:
    """Return a function that takes its result, a named tuple, from the cache if it is there.

    Args:
        function: A function whose result depends on its arguments alone, and is a named tuple of floats and of such
            named tuples, as its annotation says.

    Returns:
        A function with the same arguments and results.

    Raises:
        Exception: Whatever the function raises; nothing is then cached.

    Source: own definition.

    >>> from eyechart.statistics.intervals import wilson
    >>> with use_results({}):
    ...     cached_tuple(wilson)(1, 2) == wilson(1, 2)
    True
    """
    kind: type[Numbers] = function.__annotations__["return"]
    return _cached(function, lambda values: _make_tuple(kind, iter(values.tolist())))


def _cached(function: Callable[Arguments, Result], restore: Callable[[Floats], Result]) -> Callable[Arguments, Result]:
    @wraps(function)
    def call(*positional: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        results = _results.get()
        key = None if results is None else _hash_call(function, positional, keywords)
        if results is None or key is None:
            return function(*positional, **keywords)
        if (stored := results.get(key)) is not None:
            return restore(stored)
        result = function(*positional, **keywords)
        results[key] = np.array(result if isinstance(result, np.ndarray) else [*_numbers(result)], np.float64)
        return result

    return call


def _numbers(result: Any) -> Iterator[float]:
    """Yield the numbers of a named tuple and of those in it."""
    for item in result:
        yield from _numbers(item) if isinstance(item, tuple) else (item,)


def _make_tuple(kind: Any, numbers: Iterator[float]) -> Any:
    """Return a named tuple with the next numbers."""
    fields = get_type_hints(kind).values()
    return kind(*[next(numbers) if field is float else _make_tuple(field, numbers) for field in fields])


def _hash_call(function: Callable[..., Any], positional: Iterable[object], keywords: dict[str, Any]) -> str | None:
    """Return the sha256 of a function, its arguments, the source code of this package, and versions of libraries.

    Args:
        function: The function that is called.
        positional: Its positional arguments: arrays, numbers, texts, None, and tuples, lists and dataclasses of these;
            a dataclass counts by the fields by which it is compared.
        keywords: Its keyword arguments, of the same types.

    Returns:
        64 hexadecimal digits, None if an argument is of another type.

    Source: own definition.

    >>> _hash_call(np.cumsum, ([1.0],), {}) == _hash_call(np.cumsum, ([2.0],), {})
    False
    >>> _hash_call(np.cumsum, (iter([1.0]),), {})
    """
    digest = sha256(_source_digest())
    try:
        _add(digest, (f"{function.__module__}.{function.__qualname__}", tuple(positional), *sorted(keywords.items())))
    except TypeError:
        return None
    return digest.hexdigest()


@cache
def _source_digest() -> bytes:
    """Return the sha256 of the source code of all statistics, and the versions of the libraries that they use."""
    digest = sha256(f"{np.__version__} {scipy.__version__}".encode())
    package = Path(__file__).parents[1]
    for path in sorted([*package.glob("statistics/*.py"), *package.glob("*/statistics/*.py")]):  # and of the studies
        _add(digest, (path.name, path.read_text(encoding="utf-8")))
    return digest.digest()


def _add(digest: _Hash, value: object) -> None:
    """Add a value with its type and length. Raises TypeError for a type that is not hashed."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest.update(f"array {value.dtype.str} {value.shape}\n".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, SCALARS):
        text = f"{type(value).__name__} {value!r}".encode()
        digest.update(b"scalar %d\n%b" % (len(text), text))
    elif isinstance(value, tuple | list):
        digest.update(f"{type(value).__name__} {len(value)}\n".encode())
        for item in value:
            _add(digest, item)
    elif is_dataclass(value) and not isinstance(value, type):
        compared = [getattr(value, field.name) for field in fields(value) if field.compare]
        _add(digest, (type(value).__qualname__, *compared))
    else:
        raise TypeError(f"a {type(value).__name__} is not hashed")
