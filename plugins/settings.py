"""The values of the options about models, data and scores: checked, typed, and read once per session."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

import pytest

from eyechart.data.dataset.blanks import parse_blank
from eyechart.data.dataset.limits import Limit, parse_limit
from eyechart.data.labels.label_files import LabelsOption, parse_labels_option
from eyechart.data.splits.registry import default_models
from eyechart.errors import EyechartError, SpecError
from eyechart.evaluation.presets import Preset, read_preset
from eyechart.evaluation.settings import PER_PROTOCOL, Settings
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.options import names_of
from eyechart.models.registry import find_backend
from eyechart.models.spec import ModelSpec, parse_named_spec
from eyechart.protocol.options import OptionSetting, RequestedValues, flag
from eyechart.protocol.registry import get_protocol

from .device_options import read_devices, read_ray_gpus
from .options import FALLBACK_MODELS, get_option, read_count

SETTINGS = pytest.StashKey[Settings]()
PRESET = pytest.StashKey[Preset]()
DEFAULTS = pytest.StashKey[Mapping[str, tuple[ModelSpec, ...]]]()  # the default models by benchmark


def _read_limit(config: pytest.Config) -> Limit:
    """Return the limit of images of each split, None if it is not set."""
    if not (text := str(get_option(config, "limit"))):
        return None
    try:
        return parse_limit(text)
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-limit {error}") from error


def _read_blank(config: pytest.Config) -> str:
    """Return the blank that models see instead of images, "" if they see the images."""
    name = str(get_option(config, "blank"))
    if not name:
        return ""
    for other in ("baseline", "update-baseline", "sequential"):
        if get_option(config, other):
            raise pytest.UsageError(
                f"--eye-blank shows no image, and baselines are of images. Leave out --eye-{other}."
            )
    try:
        return parse_blank(name)
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-blank: {error}") from error


def read_models(config: pytest.Config) -> tuple[ModelSpec, ...]:
    """Return the requested models, or the default ones, checked without an import of their backends."""
    specs: list[ModelSpec] = []
    for text in get_option(config, "model") or chain.from_iterable(_default_models().values()):
        try:
            spec = parse_named_spec(text)
            find_backend(spec)
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-model: {error}") from error
        specs.append(_add_model_options(config, spec))
    for first, second in combinations(dict.fromkeys(specs), 2):
        if first.alias and first.alias == second.alias:
            raise pytest.UsageError(
                f"--eye-model: the name '{first.alias}' is given to {first} and to {second}. "
                "Give each model another name."
            )
    return tuple(dict.fromkeys(specs))


def _default_models() -> Mapping[str, tuple[str, ...]]:
    """Return the models of a session that requests none, by benchmark."""
    try:
        return default_models()
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error


def _add_model_options(config: pytest.Config, spec: ModelSpec) -> ModelSpec:
    """Add the options of models that the preset sets, where the backend has them and the specification does not."""
    requested = get_preset(config).model_options
    known = _declared_option_names(spec) if requested else frozenset()
    return replace(spec, options={name: requested[name] for name in requested if name in known} | {**spec.options})


def _declared_option_names(spec: ModelSpec) -> frozenset[str]:
    """Return the names of the options that a backend declares, none if its class cannot be imported here."""
    try:
        return frozenset(names_of(find_backend(spec).load_class().declared_options))
    except EyechartError:
        return frozenset()


def is_used_for(config: pytest.Config, model: ModelSpec, benchmark: str) -> bool:
    """Return whether a model is evaluated on a benchmark: a requested model on all, a default one on its own."""
    if get_option(config, "model"):
        return True
    if DEFAULTS not in config.stash:
        config.stash[DEFAULTS] = {
            name: tuple(_add_model_options(config, parse_named_spec(text)) for text in texts)
            for name, texts in {**_default_models(), "": FALLBACK_MODELS}.items()
        }
    return model in config.stash[DEFAULTS].get(benchmark, config.stash[DEFAULTS][""])


def get_preset(config: pytest.Config) -> Preset:
    """Return the requested preset, or an empty one, read once per session."""
    if PRESET not in config.stash:
        name = str(get_option(config, "preset"))
        try:
            config.stash[PRESET] = read_preset(name) if name else Preset()
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-preset: {error}") from error
    return config.stash[PRESET]


def read_suite_options(config: pytest.Config) -> Mapping[str, Mapping[str, str]]:
    """Return the options of the suite that the preset sets for single protocols and the command line does not set."""
    free = [name for name in PER_PROTOCOL if not config.getoption(f"eye_{name}")]
    return {
        protocol: {name: options[name] for name in free if name in options}
        for protocol, options in get_preset(config).suite.items()
    }


def parse_protocol_options(config: pytest.Config) -> Mapping[str, RequestedValues]:
    """Return the requested values by protocol and option; a later setting replaces an earlier one."""
    requested: dict[str, dict[str, tuple[str, ...]]] = {}
    settings = [OptionSetting.parse(text) for text in config.getini("eye_set") or ()]
    settings += get_preset(config).settings
    for setting in [*settings, *map(OptionSetting.parse, config.getoption("eye_set") or ())]:
        protocol = get_protocol(setting.protocol)
        known = {option.name: option for option in protocol.options}
        named = flag(setting.protocol, setting.option)
        if setting.option not in known:
            listed = f"It has {', '.join(known)}." if known else "It has no options."
            raise SpecError(f"{named}: there is no such option{did_you_mean(setting.option, [*known])} {listed}")
        requested.setdefault(setting.protocol, {})[setting.option] = known[setting.option].parse_values(
            setting.values, named
        )
    return requested


def read_label_options(config: pytest.Config) -> tuple[LabelsOption, ...]:
    """Return the label sets of `--eye-labels`."""
    try:
        return tuple(parse_labels_option(text) for text in get_option(config, "labels") or ())
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error


def answer_command(arguments: Sequence[str]) -> str:
    """Return the command that makes the answers that a session with `--eye-stored` reads.

    >>> answer_command(["-k", "pets/ and knn", "--eye-stored"])
    "pytest --eye-answer -k 'pets/ and knn'"
    """
    left_out = ("--eye-stored", "--eye-baseline=", "--eye-update-baseline", "--eye-sequential", "--eye-track=")
    return shlex.join(["pytest", "--eye-answer", *(word for word in arguments if not word.startswith(left_out))])


def _read_protocol_options(config: pytest.Config) -> Mapping[str, RequestedValues]:
    """Return the requested options of protocols. Raises UsageError for a wrong one."""
    try:
        return parse_protocol_options(config)
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error


def describe_ineffective_options(config: pytest.Config) -> list[str]:
    """Return a line for each option of a protocol, and each option of models in the preset, without an effect."""
    chosen = get_settings(config)
    lines = [warning for name, values in chosen.options.items() if (warning := get_protocol(name).warnings(values))]
    for option, value in get_preset(config).model_options.items():
        without = [
            model.name for model in chosen.models if option not in {*model.options, *_declared_option_names(model)}
        ]
        if without:
            lines.append(
                f"the preset {get_option(config, 'preset')} sets {option}={value}, an option that "
                f"{', '.join(without)} {'does' if len(without) == 1 else 'do'} not have"
            )
    return [f"eyechart: {line}" for line in lines]


def get_settings(config: pytest.Config) -> Settings:
    """Return all options as typed values, read once per session."""
    if SETTINGS not in config.stash:
        here = config.invocation_params.dir
        models = read_models(config)
        config.stash[SETTINGS] = Settings(
            models=models,
            data=get_option(config, "data") or None,
            out=here / get_option(config, "out"),
            store=here / get_option(config, "store"),
            limit=_read_limit(config),
            seed=read_count(config, "seed", 0) or 0,
            sequential=bool(get_option(config, "sequential")),
            answer_command=answer_command(sys.argv[1:]) if get_option(config, "stored") else "",
            only_answer=bool(get_option(config, "answer")),
            devices=read_devices(config),
            ray=str(get_option(config, "ray")),
            remote=get_option(config, "remote") or "",
            ray_actors=read_count(config, "ray-actors", 1) or 0,
            ray_gpus=read_ray_gpus(config, models),
            blank=_read_blank(config),
            slices=str(get_option(config, "slices") or ""),
            offline=bool(get_option(config, "offline")),
            strict=bool(get_option(config, "strict")),
            max_errors=read_count(config, "max-errors", 0) or 0,
            names=get_option(config, "names"),
            templates=get_option(config, "templates") or None,
            labels=read_label_options(config),
            empty=get_option(config, "empty-labels") or None,
            equivalences=get_option(config, "equivalences"),
            categories=get_option(config, "categories"),
            positive=get_option(config, "positive"),
            cluster=get_option(config, "cluster"),
            threshold_from=get_option(config, "threshold-from"),
            options=_read_protocol_options(config),
            by_protocol=read_suite_options(config),
        )
    return config.stash[SETTINGS]
