"""How transformers loads a generative model: attention, devices, quantisation, adapter, remote code, image sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from eyechart.errors import ModelError
from eyechart.messages.install_commands import install_command, install_package_command
from eyechart.models.chat.template import ChatOptions
from eyechart.models.options import BatchSize, Count, DtypeOption, described
from eyechart.models.runtime import torch_runtime
from eyechart.models.spec import ModelSpec
from eyechart.models.weights import hub_files, weight_source

EXACT_ATTENTION = ("", "eager", "sdpa")  # the implementations that take a mask of any form
WITHOUT_SDPA = {  # parts of a family that sdpa reads as if each patch saw only those before it
    "phi4_multimodal": {"vision_config": "eager"},
}
TORCHAO = {
    "torchao_int8": "Int8WeightOnlyConfig",
    "torchao_int4": "Int4WeightOnlyConfig",
    "torchao_float8": "Float8WeightOnlyConfig",
}
Quantization = Literal["bitsandbytes_8bit", "bitsandbytes_4bit", "torchao_int8", "torchao_int4", "torchao_float8"]


class ProcessorOptions(ChatOptions):
    """The options of a checkpoint with a chat template and an image processor."""

    trust_remote_code: Annotated[bool, described("true runs the Python code that comes with the model")] = False
    min_pixels: Annotated[
        Count | None, described("smaller images are enlarged to so many pixels", "the processor's")
    ] = None
    max_pixels: Annotated[Count | None, described("larger images are reduced to so many pixels", "the processor's")] = (
        None
    )
    mm_processor_kwargs: Annotated[
        dict[str, Any],
        described("a setting of the image processor, as in mm_processor_kwargs.do_resize=false"),
    ] = msgspec.field(default_factory=dict)

    @property
    def processor_kwargs(self) -> dict[str, Any]:
        """The settings of the image processor."""
        pixels = {"min_pixels": self.min_pixels, "max_pixels": self.max_pixels}
        return {name: value for name, value in pixels.items() if value is not None} | self.mm_processor_kwargs


class HfOptions(ProcessorOptions):
    """The options of `hf[…]`."""

    dtype: DtypeOption = None
    batch_size: BatchSize = 16
    attn_implementation: Annotated[
        Literal["eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention"] | None,
        described("implementation of attention in transformers", "what transformers takes for the model"),
    ] = None
    device_map: Annotated[
        Literal["auto", "balanced", "balanced_low_0", "sequential"] | None,
        described("how layers are spread over all GPUs of the machine, and the memory of the processor", "one device"),
    ] = None
    quantization: Annotated[
        Quantization | None, described("quantisation of the weights while they are loaded", "none")
    ] = None
    adapter: Annotated[
        str, described("LoRA or other adapter of PEFT, which is merged", "none", "folder or owner/name")
    ] = ""
    compile: Annotated[
        Literal["inductor", "aot_eager", "eager"] | None,
        described("backend of torch.compile that compiles the model", "none"),
    ] = None


@dataclass(frozen=True)
class LoadSettings:
    """The options of a specification that say how a model is loaded."""

    spec: ModelSpec
    offline: bool = False
    attention: str = ""
    device_map: str = ""
    quantization: str = ""
    adapter: str = ""
    compile: str = ""
    trust_remote_code: bool = False
    processor_kwargs: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_options(cls, options: HfOptions, spec: ModelSpec, *, offline: bool) -> "LoadSettings":
        """Return the settings in the options of a specification.

        Raises ModelError for a package that is not installed.
        """
        settings = cls(
            spec,
            offline,
            options.attn_implementation or "",
            options.device_map or "",
            options.quantization or "",
            options.adapter,
            options.compile or "",
            options.trust_remote_code,
            options.processor_kwargs,
        )
        settings.check_packages()
        return settings

    def check_packages(self) -> None:
        """Raise ModelError if a package that an option needs is not installed."""
        needed = {
            "quantization": self.quantization.partition("_")[0],
            "adapter": "peft" if self.adapter else "",
            "device_map": "accelerate" if self.device_map else "",
        }
        for option, package in needed.items():
            if package and find_spec(package) is None:
                command = install_command("adapters") if package == "peft" else install_package_command(package)
                value = self.spec.options[option]
                raise ModelError(
                    f"'{self.spec}': {option}={value} needs the package {package}, which is not installed. "
                    f"Install it with: {command}"
                )

    @cached_property
    def adapter_source(self) -> weight_source.WeightSource:
        """The folder of the adapter."""
        source = weight_source.hub_folder(self.adapter, ("adapter_*",), offline=self.offline)
        if not (source.path / "adapter_config.json").is_file():
            raise ModelError(f"The folder {source.path} has no adapter_config.json. Expected an adapter of PEFT.")
        return source

    def identity(self, path: Path) -> dict[str, Any]:
        """Return the settings that are not at their defaults, and the trusted code in a folder, for the identity."""
        adapter = weight_source.digest(*sorted(self.adapter_source.path.glob("adapter_*"))) if self.adapter else ""
        packages = {"bitsandbytes", "torchao"} & {self.quantization.partition("_")[0]}
        settings = {
            "attn_implementation": self.attention,
            "device_map": self.device_map,
            "quantization": self.quantization,
            "quantization_libraries": torch_runtime.library_versions(*packages),
            "adapter_sha256": adapter,
            "compile": self.compile,
            "code_sha256": weight_source.digest(*path.glob("*.py")) if self.trust_remote_code else "",
            "processor_kwargs": dict(self.processor_kwargs),
        }
        return {name: value for name, value in settings.items() if value}

    def load(self, kind: str, path: Path, dtype: str, device: str, config: Any) -> Any:
        """Load a transformers class onto its device, with the adapter merged, in evaluation mode."""
        how: dict[str, Any] = {"config": config}
        if attention := self._attention(path):
            how["attn_implementation"] = attention
        if self.quantization:
            how["quantization_config"] = _quantization_config(self.quantization)
        if self.device_map or self.quantization:
            how["device_map"] = self.device_map or {"": device}
        if self.trust_remote_code:
            how["trust_remote_code"] = True
        module = hub_files.load_model(kind, path, dtype=dtype, how=how)
        if self.adapter:
            module = _merge_adapter(module, self.adapter_source.path)
        module = module.eval().requires_grad_(False) if "device_map" in how else torch_runtime.to_device(module, device)
        if self.compile:
            module.compile(backend=self.compile, dynamic=True)
        return module

    def _attention(self, path: Path) -> str | dict[str, str]:
        """Return the implementation of attention, by the part of the model where a part needs another one."""
        parts = WITHOUT_SDPA.get(str(hub_files.read_settings(path / "config.json").get("model_type")), {})
        return {"": self.attention or "sdpa", **parts} if parts else self.attention


def _quantization_config(name: str) -> Any:
    """Return the configuration of a quantisation for transformers."""
    import transformers

    if name not in TORCHAO:
        bits = name.removeprefix("bitsandbytes_")
        return transformers.BitsAndBytesConfig(**{f"load_in_{bits}": True})
    from torchao import quantization

    return transformers.TorchAoConfig(getattr(quantization, TORCHAO[name])())


def _merge_adapter(module: Any, path: Path) -> Any:
    """Return a model with the weights of an adapter added to its own."""
    from peft import PeftModel

    with weight_source.explain_load_errors(path, type(module).__name__):
        return PeftModel.from_pretrained(module, str(path)).merge_and_unload()
