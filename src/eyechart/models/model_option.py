"""The declaration of one option of model specifications."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from eyechart.models.spec import ModelSpec

T = TypeVar("T")


@dataclass(frozen=True)
class ModelOption(Generic[T]):
    """An option with its type and default as text, and the function that reads it from a specification.

    An option whose name ends in `.KEY` stands for all options that begin as it does.
    """

    name: str
    help: str
    type: str
    default: str
    reader: Callable[[ModelSpec], T] = field(repr=False)

    def read(self, spec: ModelSpec) -> T:
        """Return the value in a specification, or the default. Raises SpecError for a value that it cannot have."""
        return self.reader(spec)

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The name, type, default and explanation."""
        return self.name, self.type, self.default, self.help


AnyOption = ModelOption[Any]
