"""Suggestions for a model name that is no backend: a near backend, or a model or file given without its backend."""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from eyechart.messages.suggestions import did_you_mean
from eyechart.models.exported.graph import BACKENDS
from eyechart.models.spec import PACKAGED_MODELS, ModelSpec

DINO_TXT = (
    "dino.txt, the text tower of DINOv2 and DINOv3, is in none of open_clip, transformers and timm, but only in the "
    "code of facebookresearch/dinov3 for torch.hub. Write a class that inherits from Encoder around it "
    "(docs/extending.md), or use the image tower alone as knn[timm[…]]."
)


def near_or_absent(name: str, near: str) -> str:
    """Return the end of a sentence about a name that is not known: the near ones, or where a model is instead."""
    return f". {DINO_TXT}" if {"dino", "txt"} <= {*re.findall("dino|txt", name.casefold())} else near


def suggest_model(spec: ModelSpec, backends: Sequence[str]) -> str:
    """Return the end of a sentence about an unknown backend: the backend of a model or file of that name, or near ones.

    No library is imported, since that takes seconds.
    """
    if file := suggest_file(spec):
        return f"; did you mean {file}?"
    near = near_or_absent(spec.backend, did_you_mean(spec.backend, backends))
    candidates = [*_spelled(spec, _shipped()), *_spelled(spec, (("open_clip", name) for name in _open_clip()))]
    if not candidates and near == ".":
        candidates = [*_spelled(spec, (("timm", name) for name in _timm(spec)))]
    return f"; did you mean {' or '.join(candidates)}?" if candidates else near


def suggest_file(spec: ModelSpec) -> ModelSpec | None:
    """Return the specification of a file of an exported model that is given without its backend, None for others.

    A path reads as a model of hf, as those of the hub do.
    """
    path, *others = spec.arguments or ("",) if spec.backend == "hf" else (spec.backend, *spec.arguments)
    backend = BACKENDS.get(Path(path).suffix)
    return ModelSpec(backend, (path, *others), spec.options) if backend else None


def _spelled(spec: ModelSpec, models: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the specification with its backend for each model of its name, ignoring case and kind of dash."""
    for backend, name in models:
        if _folded(name) == _folded(spec.backend):
            yield str(ModelSpec(backend, (name, *spec.arguments), spec.options))


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")


def _shipped() -> Iterator[tuple[str, str]]:
    return ((backend, name) for backend, names in PACKAGED_MODELS.items() for name in names)


def _open_clip() -> list[str]:
    """Return open_clip's architectures, from the files of its package."""
    return [path.stem for path in _files_of("open_clip", "model_configs/*.json")]


def _timm(spec: ModelSpec) -> list[str]:
    """Return the name of a specification if timm has such a model, with or without a weights tag.

    timm's files say which models it has: those that it registers, and former names of them.
    """
    name = re.escape(spec.backend.partition(".")[0])
    registered = re.compile(rf"^@register_model\s+def {name}\(", re.MULTILINE)
    former = re.compile(rf"^register_model_deprecations\([^}}]*['\"]{name}['\"]\s*:", re.MULTILINE)
    texts = (path.read_text(encoding="utf-8") for path in _files_of("timm", "models/*.py"))
    return [spec.backend] if any(registered.search(text) or former.search(text) for text in texts) else []


def _files_of(package: str, pattern: str) -> list[Path]:
    """Return files of a package, none if it is not installed, without importing it."""
    found = find_spec(package)
    return [] if found is None or found.origin is None else sorted(Path(found.origin).parent.glob(pattern))
