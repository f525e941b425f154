"""The packaged models, which are given by their names alone."""

from collections.abc import Mapping
from pathlib import Path

from eyechart.models.spec import ModelSpec
from eyechart.samples.files import packaged

PACKAGED_MODELS: Mapping[str, tuple[str, ...]] = {
    "open_clip": ("toybox-clip", "toybox-clip-b"),
    "hf": ("toybox-mllm",),
    "vllm": ("toybox-mllm",),
}


def packaged_folder(spec: ModelSpec) -> Path | None:
    """Return the folder of the packaged model that a specification names, if it names one.

    >>> from eyechart.models.spec import parse_spec
    >>> packaged_folder(parse_spec("vllm[toybox-mllm]")).name, packaged_folder(parse_spec("vllm[./toybox-mllm]"))
    ('toybox-mllm', None)
    """
    name = "".join(spec.arguments)
    return packaged(name) if name in PACKAGED_MODELS.get(spec.backend, ()) else None
