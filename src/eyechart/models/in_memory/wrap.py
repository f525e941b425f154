"""Models that a program holds in memory: modules of torch with their transform, open_clip, timm, transformers.

The identity of such a model is the sha256 of its state dict, its architecture as `repr` prints it, and its transform or
processor: a further training step gives another identity. Values in closures, attributes and globals change answers,
too, and are in none of these: stored answers are used again only under a name that the caller gives (`wrap_model`). The
module is used as it is, on its device and in its precision. `evaluating` sets it to evaluation mode, and then back.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import FunctionType
from typing import Any
from uuid import uuid4
from weakref import finalize

from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.hf.clip import HfClipEncoder
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.runtime import torch_runtime
from eyechart.models.spec import ModelSpec
from eyechart.models.types import ADDRESS, Classifier, Floats, Head, Identity, ImageEncoder, Model, Neighbours, Probe
from eyechart.models.weights import hub_files, weight_source
from eyechart.models.weights.state_digests import module_sha256

BACKEND = "memory"
ONE_BY_ONE = (
    "The module is quantised dynamically: an answer depends on the other images of its batch, so images are answered "
    "one by one."
)
ACCEPTED = (
    "Give a specification such as open_clip[ViT-B-32,pretrained=openai], (module, transform) for a classifier, a model "
    "of timm, (model, preprocess, tokenizer) of open_clip, (model, processor) of transformers, or an object of a class "
    "that inherits from an interface of eyechart.models.types."
)


def wrap_model(model: Any, name: str = "", identity: str = "") -> tuple[ModelSpec, Model]:
    """Return a model in memory and the specification that names it.

    Its stored answers are used again by later calls with the same `identity`, weights and architecture, and without one
    by none. Accepted are:

    - an object of a class of `eyechart.models.types` is returned as it is;
    - `(module, transform)`: a classifier; `transform` turns a PIL image into a tensor (3, h, w);
    - a model of timm: a classifier and an image encoder, with timm's own transform;
    - `(model, preprocess, tokenizer)` of open_clip, or `(model, preprocess_train, preprocess_val, tokenizer)`;
    - `(model, processor)` of transformers: an encoder (CLIP, SigLIP), a generator, or an image classifier.

    Raises:
        ModelError: The object is none of these.
    """
    spec, wrapped = _find_wrapper(model, name)
    wrapped.owner = identity or uuid4().hex
    if isinstance(wrapped, Neighbours | Probe) and wrapped.encoder.made_from is None:
        wrapped.encoder.owner = wrapped.owner
    return spec, wrapped


def _find_wrapper(model: Any, name: str) -> tuple[ModelSpec, Model]:
    """Return the specification and the interfaces of a model in memory. Raises ModelError for another object."""
    parts = (*model,) if isinstance(model, tuple | list) else (model,)
    spec = ModelSpec(BACKEND, (type(parts[0]).__name__,), alias=name)
    if isinstance(model, Model):
        return spec, model
    module, *others = parts
    if isinstance(module, type):
        raise ModelError(f"The model is the class {module.__name__}. Give an object of it: {module.__name__}(…).")
    if type(module).__name__ == "ExportedProgram":
        raise ModelError("The model is a program of torch.export. Give its module: (program.module(), transform).")
    if not (callable(getattr(module, "state_dict", None)) and callable(getattr(module, "parameters", None))):
        raise ModelError(f"The model is of the type {type(module).__name__}. {ACCEPTED}")
    if hasattr(module, "encode_image") and len(others) in (2, 3):
        return spec, _OpenClipInMemory(spec, module, *others[-2:])
    if not others and hasattr(module, "pretrained_cfg"):
        return spec, _TimmInMemory(spec, module)
    if len(others) == 1 and hasattr(module, "config") and hasattr(others[0], "save_pretrained"):
        return spec, _wrap_transformers(spec, module, others[0])
    if len(others) == 1 and callable(others[0]):
        return spec, _ClassifierInMemory(spec, module, others[0])
    shown = ", ".join(type(part).__name__ for part in parts)
    raise ModelError(f"The model is given as ({shown}), which is not known. {ACCEPTED}")


def _wrap_transformers(spec: ModelSpec, module: Any, processor: Any) -> Model:
    """Return a model of transformers with its processor, by what it can do."""
    if hasattr(module, "get_image_features") and hasattr(module, "get_text_features"):
        return _HfClipInMemory(spec, module, processor)
    if hasattr(module, "generate") and hasattr(processor, "tokenizer"):
        return _HfGeneratorInMemory(spec, module, processor)
    return _HfClassifierInMemory(spec, module, processor)


def _describe_transform(transform: Any) -> str:
    """Return a text that identifies a transform: its `repr` and the source of the functions in it."""
    parts = [transform, *getattr(transform, "transforms", ())]
    functions = [part for part in parts if isinstance(part, FunctionType)]
    sources = [sha256(_source_of(function)).hexdigest()[:12] for function in functions]
    return " ".join([ADDRESS.sub("", repr(transform)), *sources])


def _source_of(function: FunctionType) -> bytes:
    """Return the source of a function, or its byte code where there is no source."""
    try:
        return inspect.getsource(function).encode()
    except (OSError, TypeError):
        return function.__code__.co_code


def _placement(module: Any) -> tuple[str, str]:
    """Return the device of a module, and the type of the floats that its first layer multiplies with.

    Quantised weights may be whole numbers, and a module without weights computes in float32.
    """
    tensors = [*module.parameters(), *module.buffers()]
    floats = [tensor for tensor in tensors if tensor.is_floating_point()]
    first = next(iter([*(tensor for tensor in floats if tensor.ndim > 1), *floats]), None)
    dtype = "float32" if first is None else str(first.dtype).removeprefix("torch.")
    return str(tensors[0].device) if tensors else "cpu", dtype


def _is_quantised_dynamically(module: Any) -> bool:
    """Return whether a layer of torch finds the scale of its input in a batch."""
    layers = any(".quantized.dynamic" in type(part).__module__ for part in module.modules())
    return layers or "quantized::linear_dynamic" in str(getattr(module, "inlined_graph", ""))


def _is_graph(module: Any) -> bool:
    """Return whether a module is a graph of torch.fx, as the module of a `torch.export` is."""
    from torch.fx import GraphModule

    return isinstance(module, GraphModule)


def _fixed_batch(module: Any) -> int | None:
    """Return the number of images that the module of a `torch.export` takes, None for any number and other modules."""
    nodes = module.graph.nodes if _is_graph(module) else ()
    inputs = [node.meta["val"] for node in nodes if node.op == "placeholder" and "val" in node.meta]
    first = next((part.shape[0] for part in inputs if getattr(part, "ndim", 0) == 4), None)
    return first if isinstance(first, int) else None


class InMemory(Model):
    """What all models in memory share: the module, its device and precision, and its identity."""

    batch_size = 64
    libraries: tuple[str, ...] = ("torch", "torchvision", "pillow")

    def use(self, spec: ModelSpec, module: Any) -> None:
        """Set the specification and the module, with its device and the precision of its weights."""
        self.spec, self.module = spec, module
        self.device, self.dtype = _placement(module)
        self.one_by_one = _is_quantised_dynamically(module)
        self.batch_size = 1 if self.one_by_one else _fixed_batch(module) or self.batch_size

    @property
    def model_note(self) -> str:
        """That images are answered one by one, where they are."""
        return ONE_BY_ONE if self.one_by_one else ""

    @abstractmethod
    def describe_processor(self) -> Mapping[str, Any]:
        """Return what turns images and texts into tensors, as the identity has it."""

    @cached_property
    def identity(self) -> Identity:
        """The model's identity, of the weights at the time of the first call."""
        return Identity(
            backend=BACKEND,
            name=self.spec.arguments[0],
            weights_sha256=module_sha256(self.module),
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor={
                **self.describe_processor(),
                "architecture_sha256": sha256(ADDRESS.sub("", repr(self.module)).encode()).hexdigest(),
            },
            libraries=torch_runtime.library_versions(*self.libraries),
        )

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Set the module to evaluation mode, and in the end restore the mode of each part."""
        modes = [(part, part.training) for part in self.module.modules() if hasattr(part, "training")]
        try:
            self.module.eval()
        except NotImplementedError:  # the module of a `torch.export` keeps the mode of its export
            if not _is_graph(self.module):
                raise
        try:
            yield
        finally:
            for part, training in modes:
                part.training = training


def _shown(prepared: Any) -> str:
    """Return the type of what a transform returned, with its shape."""
    shape = getattr(prepared, "shape", None)
    return type(prepared).__name__ + (f" of shape {tuple(shape)}" if shape is not None else "")


class _ClassifierInMemory(InMemory, Classifier):
    """A module that returns logits (n, classes) for a batch (n, 3, h, w), with its transform."""

    def __init__(self, spec: ModelSpec, module: Any, transform: Callable[[Image.Image], Any]) -> None:
        self.use(spec, module)
        self.transform = transform

    def describe_processor(self) -> Mapping[str, Any]:
        """Return the transform."""
        return {"transform": _describe_transform(self.transform)}

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as a tensor."""
        return self.transform(image)

    def stack(self, images: Sequence[Any]) -> Any:
        """Return prepared images as one batch on the device; floats get the precision of the weights."""
        import torch

        try:
            batch = torch.stack([*map(torch.as_tensor, images)]).to(self.device)
        except (RuntimeError, TypeError, ValueError) as error:
            if torch_runtime.out_of_memory(error):
                raise
            made = " and ".join(dict.fromkeys(_shown(image) for image in images[:2]))
            raise ModelError(
                f"The transform of {self.spec.name} returned {made}. Expected a tensor (3, h, w) of one size for all "
                "images."
            ) from error
        return batch.to(getattr(torch, self.dtype)) if batch.is_floating_point() else batch

    def classify(self, images: Sequence[Any]) -> Floats:
        """Return logits (n, classes)."""
        with torch_runtime.inference_mode(self.device, "float32"):
            output = self.module(self.stack(images))
        logits = getattr(output, "logits", output)
        if getattr(logits, "ndim", 0) != 2:
            raise ModelError(
                f"{self.spec.name} returned {type(output).__name__} of shape {tuple(getattr(logits, 'shape', ()))}. "
                "Expected logits of shape (n, classes), or an object with them as `logits`."
            )
        return torch_runtime.to_numpy(logits)


class _TimmInMemory(_ClassifierInMemory, ImageEncoder):
    """A model of timm; its pooled features make it an image encoder."""

    libraries = ("timm", "torch", "torchvision", "pillow")

    def __init__(self, spec: ModelSpec, module: Any) -> None:
        from timm.data import create_transform, resolve_model_data_config

        self.settings = resolve_model_data_config(module, use_test_size=True)
        super().__init__(spec, module, create_transform(**self.settings, is_training=False))

    def describe_processor(self) -> Mapping[str, Any]:
        """Return timm's settings of the transform."""
        return torch_runtime.to_jsonable(self.settings)

    @property
    def head(self) -> Head | None:
        """The outputs; those of a model with the number of classes of its published weights are ImageNet's."""
        listed = dict(self.module.pretrained_cfg).get("num_classes")
        return Head(self.module.num_classes, imagenet=listed == self.module.num_classes)

    def encode_images(self, images: Sequence[Any]) -> Floats:
        """Return the pooled features before the classifier (n, d)."""
        with torch_runtime.inference_mode(self.device, "float32"):
            features = self.module.forward_features(self.stack(images))
            return torch_runtime.to_numpy(self.module.forward_head(features, pre_logits=True))


class _OpenClipInMemory(InMemory, OpenClipEncoder):
    """A model of open_clip with its transform and tokenizer."""

    libraries = ("open_clip_torch", "timm", "torch", "torchvision", "pillow")

    def __init__(self, spec: ModelSpec, module: Any, transform: Any, tokenizer: Any) -> None:
        self.use(spec, module)
        self._transform, self._tokenizer, self._module = transform, tokenizer, module

    def describe_processor(self) -> Mapping[str, Any]:
        """Return the transform, and the tokens of a sentence instead of the tokenizer's files."""
        tokens = self._tokenizer(["A photo of 2 small dogs, by Ana."]).tolist()
        return {"transform": _describe_transform(self._transform), "tokens": str(tokens)}


class _Transformers(InMemory):
    """A model of transformers; its configuration and processor are read from a folder into which they are written."""

    libraries = ("transformers", "tokenizers", "torch", "pillow")

    def __init__(self, spec: ModelSpec, module: Any, processor: Any) -> None:
        self.use(spec, module)
        self.processor, self._module = processor, module
        folder = mkdtemp(prefix="eyechart-")
        finalize(self, rmtree, folder, ignore_errors=True)
        for part in (module.config, getattr(module, "generation_config", None), processor):
            if part is not None:
                part.save_pretrained(folder)
        self.source = weight_source.WeightSource(Path(folder))

    def describe_processor(self) -> Mapping[str, Any]:
        """Return the digest of the files of the configuration and the processor."""
        return {"files_sha256": hub_files.processor_files_sha256(self.source.path)}


class _HfClipInMemory(_Transformers, HfClipEncoder):
    """CLIP, SigLIP and others of transformers."""


class _HfGeneratorInMemory(_Transformers, HfGenerator):
    """A model of transformers that answers with text, greedily."""

    batch_size = 16

    @property
    def _config(self) -> Any:
        return self.module.config

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Set the module to evaluation mode and greedy decoding, and in the end restore both."""
        configured = self.module.generation_config
        self.module.generation_config = self.greedy_decoding()
        try:
            with super().evaluating():
                yield
        finally:
            self.module.generation_config = configured


class _HfClassifierInMemory(_Transformers, _ClassifierInMemory):
    """An image classifier of transformers with its image processor."""

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as a tensor (3, h, w)."""
        return self.processor(images=image, return_tensors="pt")["pixel_values"][0]

    @property
    def head(self) -> Head | None:
        """The outputs of the model."""
        return Head(int(self.module.config.num_labels))
