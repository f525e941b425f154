"""What a parser says about an answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ParseResult(Generic[T]):
    """An answer read twice: to the letter of the prompt, and as a person would read it; None: not read.

    >>> ParseResult.with_fallback(None, lambda: "cat"), ParseResult.with_fallback("dog", lambda: "cat")
    (ParseResult(strict=None, lenient='cat'), ParseResult(strict='dog', lenient='dog'))
    """

    strict: T | None
    lenient: T | None

    @classmethod
    def with_fallback(cls, strict: T | None, lenient: Callable[[], T | None]) -> "ParseResult[T]":
        """Return a reading whose lenient value is the strict one wherever there is one."""
        return cls(strict, lenient() if strict is None else strict)
