"""What a parser says about an answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """An answer read twice: to the letter of the prompt, and as a person would read it; None: not read.

    >>> Reading.of(None, lambda: "cat"), Reading.of("dog", lambda: "cat")
    (Reading(strict=None, lenient='cat'), Reading(strict='dog', lenient='dog'))
    """

    strict: T | None
    lenient: T | None

    @classmethod
    def of(cls, strict: T | None, lenient: Callable[[], T | None]) -> "Reading[T]":
        """Return a reading whose lenient value is the strict one wherever there is one."""
        return cls(strict, lenient() if strict is None else strict)
