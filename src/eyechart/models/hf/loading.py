"""How transformers loads a generative model: attention, devices, quantisation, adapter, remote code, image sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError
from eyechart.messages.install_commands import install_command, install_package_command
from eyechart.models import options
from eyechart.models.runtime import torch_runtime
from eyechart.models.spec import ModelSpec
from eyechart.models.weights import hub_files, weight_source

EXACT_ATTENTION = ("", "eager", "sdpa")  # the implementations that take a mask of any form
QUANTIZATIONS = ("bitsandbytes_8bit", "bitsandbytes_4bit", "torchao_int8", "torchao_int4", "torchao_float8")
WITHOUT_SDPA = {  # parts of a family that sdpa reads as if each patch saw only those before it
    "phi4_multimodal": {"vision_config": "eager"},
}
TORCHAO = {
    "torchao_int8": "Int8WeightOnlyConfig",
    "torchao_int4": "Int4WeightOnlyConfig",
    "torchao_float8": "Float8WeightOnlyConfig",
}
ATTENTION = options.choice(
    "attn_implementation",
    "implementation of attention in transformers",
    ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention"),
    shown="what transformers takes for the model",
)
DEVICE_MAP = options.choice(
    "device_map",
    "how layers are spread over all GPUs of the machine, and the memory of the processor",
    ("auto", "balanced", "balanced_low_0", "sequential"),
    shown="one device",
)
QUANTIZATION = options.choice(
    "quantization", "quantisation of the weights while they are loaded", QUANTIZATIONS, shown="none"
)
ADAPTER = options.words(
    "adapter", "LoRA or other adapter of PEFT, which is merged", type="folder or owner/name", shown="none"
)
TRUST_REMOTE_CODE = options.flag("trust_remote_code", "true runs the Python code that comes with the model", False)
COMPILE = options.choice(
    "compile", "backend of torch.compile that compiles the model", ("inductor", "aot_eager", "eager"), shown="none"
)
OWN = "the processor's"
MIN_PIXELS = options.optional_whole_number("min_pixels", "smaller images are enlarged to so many pixels", OWN)
MAX_PIXELS = options.optional_whole_number("max_pixels", "larger images are reduced to so many pixels", OWN)
PROCESSOR_KWARGS = options.keywords(
    "mm_processor_kwargs", "a setting of the image processor, as in mm_processor_kwargs.do_resize=false"
)
PROCESSOR_OPTIONS = (MIN_PIXELS, MAX_PIXELS, PROCESSOR_KWARGS)
OPTIONS = (ATTENTION, DEVICE_MAP, QUANTIZATION, ADAPTER, COMPILE, TRUST_REMOTE_CODE, *PROCESSOR_OPTIONS)


def read_processor_kwargs(spec: ModelSpec) -> dict[str, Any]:
    """Return the settings of the image processor in a specification."""
    pixels = {"min_pixels": MIN_PIXELS.read(spec), "max_pixels": MAX_PIXELS.read(spec)}
    return {name: value for name, value in pixels.items() if value is not None} | PROCESSOR_KWARGS.read(spec)


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
    def from_spec(cls, spec: ModelSpec, *, offline: bool) -> "LoadSettings":
        """Return the settings in a specification.

        Raises SpecError for a value that cannot be used, and ModelError for a package that is not installed.
        """
        settings = cls(
            spec,
            offline,
            ATTENTION.read(spec),
            DEVICE_MAP.read(spec),
            QUANTIZATION.read(spec),
            ADAPTER.read(spec),
            COMPILE.read(spec),
            TRUST_REMOTE_CODE.read(spec),
            read_processor_kwargs(spec),
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
