"""`Data`, `Storage` and `Compute`: groups of arguments of `evaluate` and `audit`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import SpecError
from eyechart.paths import RUNS, STORE


@dataclass(frozen=True)
class Data:
    """A data set with what is known about it, for images or labels that do not tell everything themselves.

    Args:
        source: The name of a split (`imagenet/sample`), a folder with a folder of images for each class, a DataFrame
            with the columns `path` and `label`, a `datasets.Dataset`, or a torch data set of (image, label).
        name: The name of data in memory or in a folder, as `benchmark/split`.
        class_names: Names of the classes of a torch data set that has no attribute `classes`.
        labels: Files of further label sets, by name.
        templates: Prompt templates of zero-shot models, as for `--eye-templates`.
        root: The folder in which the name of a split is looked up, as for `--eye-data`.
    """

    source: Any
    name: str = ""
    class_names: Sequence[str] | Mapping[int, str] = ()
    labels: Mapping[str, Path | str] = field(default_factory=dict)
    templates: str | None = None
    root: str | None = None

    def __str__(self) -> str:
        """Show the data as records have them; an object in memory is shown by its type.

        >>> print(Data("imagenet/sample"), Data([1], name="pets/test"))
        'imagenet/sample' eyechart.Data(<list>, name='pets/test')
        """
        source = show_argument(self.source)
        others = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "source"}
        named = [f"{name}={value!r}" for name, value in others.items() if value is not None and len(value)]
        return f"eyechart.Data({', '.join([source, *named])})" if named else source


@dataclass(frozen=True)
class Storage:
    """The folders that answers and runs are written into.

    Args:
        store: The folder of stored answers.
        runs: The folder of runs.
        remote: The URL of a store from which sealed answers are copied, as for `--eye-remote`.
    """

    store: Path | str = STORE
    runs: Path | str = RUNS
    remote: str = ""


@dataclass(frozen=True)
class Compute:
    """Where and how a model answers.

    Args:
        devices: The number of processes of a model on this machine; by default one for each GPU if there are two or
            more, else none beside this process. A model in memory always answers in this process.
        ray: The address of a Ray cluster that answers, as for `--eye-ray`.
        offline: Whether no connection may be opened.
        progress: Whether a bar is shown.

    Raises:
        SpecError: If `devices` is not a positive whole number or "auto", or stands beside `ray`.
    """

    devices: int | Literal["auto"] = "auto"
    ray: str = ""
    offline: bool = False
    progress: bool = True

    def __post_init__(self) -> None:
        if self.devices != "auto" and (self.ray or not isinstance(self.devices, int) or self.devices < 1):
            reason = "ray=… is given, too" if self.ray else f"got {self.devices!r}"
            raise SpecError(f"devices takes 'auto' or a whole number from 1 up, and not beside ray=…; {reason}.")


def show_argument(value: Any) -> str:
    """Return an argument as a record shows it: texts and paths as they are, other objects by their type."""
    return repr(str(value)) if isinstance(value, str | Path) else f"<{type(value).__name__}>"
