"""The values of the options: checked, typed, and read once per session."""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.dataset.limits import Limit, parse_limit
from eyechart.data.labels.class_names import load_class_names, load_templates
from eyechart.data.labels.equivalences import equivalent_pairs
from eyechart.data.labels.label_files import LabelsOption, parse_labels_option, read_labels
from eyechart.data.splits.open_split import list_splits
from eyechart.data.splits.registry import default_models
from eyechart.errors import DataError, EyechartError, SpecError
from eyechart.evaluation.presets import Preset, read_preset
from eyechart.evaluation.settings import PER_PROTOCOL, Settings
from eyechart.files.path_encoding import check_locale
from eyechart.gate.policy.floors import parse_floor
from eyechart.gate.policy.tiers import NO_POLICY, Policy, read_policy
from eyechart.gate.verdicts.decide import Rule, parse_gates, parse_margin, parse_share
from eyechart.inference.store.copies import RemoteStore
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.options import names_of
from eyechart.models.registry import find_backend
from eyechart.models.spec import ModelSpec, parse_named_spec
from eyechart.protocol.options import OptionSetting, RequestedValues, flag, is_fraction
from eyechart.protocol.registry import get_protocol
from eyechart.tracking.targets import Target, check_targets, parse_targets

from .options import FALLBACK_MODELS, OPTIONS, get_option

MAX_ALPHA = 0.5
SETTINGS = pytest.StashKey[Settings]()
PRESET = pytest.StashKey[Preset]()
DEFAULTS = pytest.StashKey[Mapping[str, tuple[ModelSpec, ...]]]()  # the default models by benchmark


def _read_count(config: pytest.Config, name: str, least: int) -> int | None:
    """Return the value of an option as a whole number, None if it is not set."""
    value = get_option(config, name)
    if value == "":
        return None
    if not str(value).isdecimal() or int(value) < least:
        raise pytest.UsageError(f"--eye-{name} must be a whole number from {least} up. Got {value!r} instead.")
    return int(value)


def _read_limit(config: pytest.Config) -> Limit:
    """Return the limit of images of each split, None if it is not set."""
    if not (text := str(get_option(config, "limit"))):
        return None
    try:
        return parse_limit(text)
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-limit {error}") from error


def _read_fraction(config: pytest.Config, name: str) -> float:
    """Return the value of an option as a number from 0 to 1."""
    value = str(get_option(config, name))
    if not is_fraction(value):
        raise pytest.UsageError(f"--eye-{name} takes numbers from 0 to 1. Got {value!r} instead.")
    return float(value)


def read_rule(config: pytest.Config) -> Rule:
    """Return the significance level, the tolerated loss, the margin and the policy of the gate."""
    return Rule(
        alpha=_read_fraction(config, "alpha"),
        max_drop=_read_share(config, "max-drop", parse_share),
        margin=_read_share(config, "margin", parse_margin) if get_option(config, "margin") else None,
        gates=_read_gates(config),
        policy=_read_session_policy(config),
    )


def _read_session_policy(config: pytest.Config) -> Policy:
    """Return the policy of `--eye-policy`, an empty one without it."""
    if not (path := get_option(config, "policy")):
        return NO_POLICY
    try:
        policy = read_policy(config.invocation_params.dir / path)
        for text in policy.floors:
            parse_floor(text)
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-policy: {error}") from error
    return policy


def _read_gates(config: pytest.Config) -> tuple[str, ...]:
    """Return the kinds of metrics that fail a case."""
    try:
        return parse_gates(str(get_option(config, "gate")))
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-gate {error}") from error


def _read_share(config: pytest.Config, name: str, parse: Callable[[str], float]) -> float:
    """Return a loss, a fraction."""
    try:
        return parse(str(get_option(config, name)))
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-{name} {error}") from error


def _read_models(config: pytest.Config) -> tuple[ModelSpec, ...]:
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
    except DataError as error:
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


def _read_suite_options(config: pytest.Config) -> Mapping[str, Mapping[str, str]]:
    """Return the options of the suite that the preset sets for single protocols and the command line does not set."""
    free = [name for name in PER_PROTOCOL if not config.getoption(f"eye_{name}")]
    return {
        protocol: {name: options[name] for name in free if name in options}
        for protocol, options in get_preset(config).suite.items()
    }


def _protocol_options(config: pytest.Config) -> Mapping[str, RequestedValues]:
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


def _read_label_options(config: pytest.Config) -> tuple[LabelsOption, ...]:
    """Return the label sets of `--eye-labels`."""
    try:
        return tuple(parse_labels_option(text) for text in get_option(config, "labels") or ())
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error


def check_options(config: pytest.Config) -> None:
    """Refuse wrong values on the command line before any test runs; wrong values in the ini file fail the cases."""
    readers: dict[str, Callable[[Any], object]] = {
        "data": lambda data: list_splits(data, offline=bool(get_option(config, "offline"))),
        "names": load_class_names,
        "templates": load_templates,
        "equivalences": lambda text: equivalent_pairs(text.removeprefix("strict:"), sys.maxsize),
        "labels": lambda _: [
            read_labels(labels.path, labels.format, classes=sys.maxsize) for labels in _read_label_options(config)
        ],
        "set": lambda texts: _check_protocol_options(config, [OptionSetting.parse(text) for text in texts]),
        "remote": lambda url: RemoteStore(url, Path(), offline=bool(get_option(config, "offline"))),
        "floor": lambda texts: [parse_floor(text) for text in texts],
    }
    try:
        check_locale(Path.cwd(), config.rootpath, *config.invocation_params.args)
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error
    _check_gate(config)
    _check_stored(config)
    _check_trackers(config)
    read_shard(config)
    _check_devices(config)
    _check_ray(config)
    _check_preset(config)
    for option in OPTIONS:
        value = config.getoption(option.ini_name)
        if value and option.name in readers:
            try:
                readers[option.name](value)
            except EyechartError as error:
                raise pytest.UsageError(f"{option.flag_name}: {error}") from error


def _read_devices(config: pytest.Config) -> int:
    """Return the number of processes of each model on this machine, 0 for auto."""
    return 0 if get_option(config, "devices") == "auto" else _read_count(config, "devices", 1) or 0


def answer_command(arguments: Sequence[str]) -> str:
    """Return the command that makes the answers that a session with `--eye-stored` reads.

    >>> answer_command(["-k", "pets/ and knn", "--eye-stored"])
    "pytest --eye-answer -k 'pets/ and knn'"
    """
    left_out = ("--eye-stored", "--eye-baseline=", "--eye-update-baseline", "--eye-sequential", "--eye-track=")
    return shlex.join(["pytest", "--eye-answer", *(word for word in arguments if not word.startswith(left_out))])


def _check_stored(config: pytest.Config) -> None:
    """Refuse options that contradict one another: answers are made, or read, or compared."""
    if get_option(config, "answer"):
        for name in ("stored", "baseline", "update-baseline", "sequential", "track"):
            if get_option(config, name):
                raise pytest.UsageError(f"--eye-answer only stores answers. Leave out --eye-{name}.")
    if get_option(config, "stored") and get_option(config, "ray"):
        raise pytest.UsageError("--eye-stored asks no model, so that it needs no cluster. Leave out --eye-ray.")


@dataclass(frozen=True)
class Shard:
    """One of several jobs that divide tests among themselves, numbered from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def indices(self, total: int) -> range:
        """Return the indices of the tests of this job among all of them.

        >>> [list(Shard(number, 3).indices(4)) for number in (1, 2, 3)]
        [[0], [1], [2, 3]]
        """
        return range((self.number - 1) * total // self.count, self.number * total // self.count)


def read_trackers(config: pytest.Config) -> tuple[Target, ...]:
    """Return the trackers of `--eye-track`."""
    try:
        return parse_targets(get_option(config, "track") or ())
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-track: {error}") from error


def _check_trackers(config: pytest.Config) -> None:
    """Refuse trackers that cannot be used, before any model is asked."""
    try:
        check_targets(read_trackers(config), offline=bool(get_option(config, "offline")))
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-track: {error}") from error


def read_shard(config: pytest.Config) -> Shard | None:
    """Return the shard of `--eye-shard`, None without it."""
    if not (text := str(get_option(config, "shard"))):
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise pytest.UsageError(
            f"--eye-shard={text}: expected K/N, where K is from 1 to N, such as 3/16 for the third of 16 jobs."
        )
    for name in ("baseline", "update-baseline"):
        if get_option(config, name):
            raise pytest.UsageError(
                f"--eye-shard has a part of the cases. Leave out --eye-{name}, merge the stores of all shards, and "
                "compare in a run of all cases."
            )
    return Shard(int(match[1]), int(match[2]))


def _check_devices(config: pytest.Config) -> None:
    """Refuse processes of a model beside a cluster, and a number of them beside workers of pytest-xdist."""
    count = _read_devices(config)
    if count and get_option(config, "ray"):
        raise pytest.UsageError(
            "--eye-devices is about this machine. Set the processes on a cluster with --eye-ray-actors."
        )
    if count and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(
            f"--eye-devices={count} and -n of pytest-xdist both start processes. Leave out -n, or --eye-devices: the "
            "workers then divide the GPUs among themselves."
        )


def _read_ray_gpus(config: pytest.Config) -> Mapping[str, float]:
    """Return the GPUs of each process on a cluster, by backend."""
    gpus, used = {}, {model.backend for model in _read_models(config)}
    for part in filter(None, str(get_option(config, "ray-gpus")).split(",")):
        backend, _, text = part.partition("=")
        value = float(text) if re.fullmatch(r"\d*\.?\d+", text) else 0.0
        if not (0 < value <= 1 or (value > 1 and value.is_integer())):
            raise pytest.UsageError(
                f"--eye-ray-gpus={part}: expected BACKEND=N, where N is a share of one GPU, such as 0.25, or a whole "
                "number of GPUs."
            )
        _find_backend_of_gpus(backend, used)
        gpus[backend] = value
    return gpus


def _find_backend_of_gpus(name: str, used: set[str]) -> None:
    """Raise UsageError unless a backend has this name; `used` are the backends of the models."""
    if name not in used:
        try:
            find_backend(ModelSpec(name))
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-ray-gpus={name}: {error}") from error


def _check_ray(config: pytest.Config) -> None:
    """Refuse options of a cluster that would not be used, and workers of pytest-xdist beside a cluster."""
    for name in ("ray-actors", "ray-gpus"):
        if config.getoption(f"eye_{name.replace('-', '_')}") is not None and not get_option(config, "ray"):
            raise pytest.UsageError(f"--eye-{name} is about a Ray cluster. Name one with --eye-ray, or leave it out.")
    _read_count(config, "ray-actors", 1)
    _read_ray_gpus(config)
    if get_option(config, "ray") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(
            "--eye-ray uses all processors and GPUs of the cluster from one process. Leave out -n of pytest-xdist."
        )


def _check_preset(config: pytest.Config) -> None:
    """Refuse options of the suite in a preset for an unknown protocol, and unknown class names and templates."""
    load: dict[str, Callable[[str], object]] = {"names": load_class_names, "templates": load_templates}
    for protocol, options in _read_suite_options(config).items():
        try:
            get_protocol(protocol)
            for name in options.keys() & load.keys():
                load[name](options[name])
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-preset={get_option(config, 'preset')}: [{protocol}] {error}") from error


def _check_gate(config: pytest.Config) -> None:
    """Refuse impossible options of the comparison, and options of the comparison in a session without one."""
    if config.getoption("eye_baseline") == "":
        raise pytest.UsageError("--eye-baseline names nothing. Name a folder or file of baselines, or leave it out.")
    if not 0 < _read_fraction(config, "alpha") < MAX_ALPHA:
        raise pytest.UsageError(
            f"--eye-alpha must be above 0 and below {MAX_ALPHA}. Got {get_option(config, 'alpha')} instead."
        )
    read_rule(config)
    if get_option(config, "sequential") and get_option(config, "limit"):
        raise pytest.UsageError("--eye-sequential sets how many images are asked. Leave out --eye-limit.")
    limited = [name for name, options in _read_suite_options(config).items() if "limit" in options]
    if get_option(config, "sequential") and limited:
        raise pytest.UsageError(
            f"--eye-sequential sets how many images are asked, and --eye-preset={get_option(config, 'preset')} limits "
            f"{', '.join(limited)}. Leave out one of them."
        )
    compares = get_option(config, "baseline") and not get_option(config, "update-baseline")
    only = ["max-drop", "margin", "gate", "sequential"] + ["alpha"] * (not get_option(config, "power"))
    for name in () if compares else only:
        if config.getoption(f"eye_{name.replace('-', '_')}") is not None:
            raise pytest.UsageError(
                f"--eye-{name} is about a comparison, and this session makes none. Name baselines with --eye-baseline, "
                "without --eye-update-baseline, or leave it out."
            )


def _check_protocol_options(config: pytest.Config, settings: Iterable[OptionSetting]) -> None:
    """Refuse unusable values of protocol options: names of models, prompts and files."""
    requested = _protocol_options(config)
    for setting in settings:
        option = next(option for option in get_protocol(setting.protocol).options if option.name == setting.option)
        check = option.check or (lambda *_: None)
        for value in requested[setting.protocol][setting.option]:
            try:
                check(value, get_option(config, "data") or None)
            except EyechartError as error:
                raise type(error)(f"{setting.protocol}.{setting.option}: {error}") from error


def _read_protocol_options(config: pytest.Config) -> Mapping[str, RequestedValues]:
    """Return the requested options of protocols. Raises UsageError for a wrong one."""
    try:
        return _protocol_options(config)
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
        config.stash[SETTINGS] = Settings(
            models=_read_models(config),
            data=get_option(config, "data") or None,
            out=here / get_option(config, "out"),
            store=here / get_option(config, "store"),
            limit=_read_limit(config),
            seed=_read_count(config, "seed", 0) or 0,
            sequential=bool(get_option(config, "sequential")),
            answer_command=answer_command(sys.argv[1:]) if get_option(config, "stored") else "",
            only_answer=bool(get_option(config, "answer")),
            devices=_read_devices(config),
            ray=str(get_option(config, "ray")),
            remote=get_option(config, "remote") or "",
            ray_actors=_read_count(config, "ray-actors", 1) or 0,
            ray_gpus=_read_ray_gpus(config),
            offline=bool(get_option(config, "offline")),
            strict=bool(get_option(config, "strict")),
            max_errors=_read_count(config, "max-errors", 0) or 0,
            names=get_option(config, "names"),
            templates=get_option(config, "templates") or None,
            labels=_read_label_options(config),
            empty=get_option(config, "empty-labels") or None,
            equivalences=get_option(config, "equivalences"),
            categories=get_option(config, "categories"),
            options=_read_protocol_options(config),
            by_protocol=_read_suite_options(config),
        )
    return config.stash[SETTINGS]
