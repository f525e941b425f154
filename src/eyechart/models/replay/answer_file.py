"""Files of answers that replace a model."""

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from eyechart.models.options import ModelOptions, described
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity


class ReplayOptions(ModelOptions):
    """The options of `replay[…]`."""

    path: Annotated[str, described("file of the answers, also as the first argument", type="path")] = ""
    name: Annotated[str, described("name of the file in identities", "that of the file")] = ""
    of: Annotated[
        str,
        described(
            "protocol of the answers: closed_world, open_world, mcq, existence, free_form or species",
            "none: the answers are class indices or names",
            "protocol",
        ),
    ] = ""


def answer_path(spec: ModelSpec) -> Path:
    """Return the path that a specification names: `replay[answers.csv]` or `replay[path=answers.csv]`."""
    return Path(spec.options.get("path") or "".join(spec.arguments))


def file_identity(spec: ModelSpec, path: Path, processor: Mapping[str, str] = {}) -> Identity:
    """Return the identity of a file of answers; the file's sha256 replaces the sha256 of weights."""
    return Identity(
        backend="replay",
        name=spec.options.get("name", path.stem),
        weights_sha256=file_sha256(path),
        dtype="",
        device="",
        processor=processor,
        libraries={},
    )


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
