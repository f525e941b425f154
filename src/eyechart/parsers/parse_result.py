"""The result of a parser."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ParseResult(Generic[T]):
    """The strict and the lenient value of an answer; None means unparsed.

    >>> ParseResult.with_fallback(None, lambda: "cat"), ParseResult.with_fallback("dog", lambda: "cat")
    (ParseResult(strict=None, lenient='cat'), ParseResult(strict='dog', lenient='dog'))
    """

    strict: T | None
    lenient: T | None

    @classmethod
    def with_fallback(cls, strict: T | None, lenient: Callable[[], T | None]) -> "ParseResult[T]":
        """Return a result whose lenient value is the strict value, or `lenient()` if that is None."""
        return cls(strict, lenient() if strict is None else strict)
