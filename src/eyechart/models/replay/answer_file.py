"""Files of answers that replace a model."""

from collections.abc import Mapping
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ModelError
from eyechart.files.folders import expand_home
from eyechart.models.options import ModelOptions, described
from eyechart.models.registry import check_replayed_protocol
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity, Model


class ReplayOptions(ModelOptions):
    """The options of `replay[…]`."""

    path: Annotated[str, described("file of the answers, also as the first argument", type="path")] = ""
    name: Annotated[str, described("name of the file in identities", "that of the file")] = ""
    of: Annotated[
        str,
        described(
            "protocol of the answers: closed_world, open_world, mcq, existence, free_form, questions or species",
            "none: the answers are class indices or names",
            "protocol",
        ),
    ] = ""


class AnswerFile(Model):
    """A file of answers that is used as a model: `replay[answers.csv]` or `replay[path=answers.csv]`.

    `expected` is the sentence of messages that says what the file should be.
    """

    declared_options = ReplayOptions
    expected: ClassVar[str]

    def __init__(self, spec: ModelSpec, **_: object) -> None:
        ReplayOptions.read(spec)
        check_replayed_protocol(spec)
        self.spec, self.path = spec, Path(expand_home(spec.options.get("path") or "".join(spec.arguments)))
        if not self.path.is_file():
            raise ModelError(f"'{spec}': there is no file {self.path}. {self.expected}")

    @cached_property
    def identity(self) -> Identity:
        """The identity of the model: the file's sha256 replaces the sha256 of weights."""
        return Identity(
            backend=self.spec.backend,
            name=self.spec.options.get("name", self.path.stem),
            weights_sha256=file_sha256(self.path),
            dtype="",
            device="",
            processor=self.processor(),
            libraries={},
        )

    def processor(self) -> Mapping[str, str]:
        """Return the digests of what is beside the file."""
        return {}


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's content."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def as_floats(values: NDArray[np.number]) -> NDArray[np.floating]:
    """Return numbers of a file in the precision in which they are ranked: their own, and float32 at least.

    >>> [as_floats(np.zeros(1, given)).dtype.name for given in ("float16", "float64", "int64")]
    ['float32', 'float64', 'float64']
    """
    return values.astype(np.result_type(values.dtype, np.float32), copy=False)
