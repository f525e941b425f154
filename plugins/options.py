"""The options: one group, one prefix, plain strings; the same in the ini file as `eye_…`."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Literal

import pytest

from eyechart.data.class_names import class_names, templates
from eyechart.data.equivalences import pairs
from eyechart.data.label_files import LabelsOption, parse_labels_option, read_labels
from eyechart.data.splits import available
from eyechart.errors import EyechartError, SpecError
from eyechart.gate.comparing import parse_max_drop
from eyechart.gate.floors import floor
from eyechart.models.registry import backend
from eyechart.paths import STORE
from eyechart.protocol.options import Given, Setting, flag, is_share
from eyechart.protocol.presets import Preset, read_preset
from eyechart.protocol.registry import get_protocol
from eyechart.protocol.settings import Settings
from eyechart.spec import ModelSpec, did_you_mean, parse_named

MOST_ALPHA = 0.5
SETTINGS = pytest.StashKey[Settings]()
DEFAULT_MODELS: Mapping[str, tuple[str, ...]] = {  # by benchmark; each meets the protocols whose interface it offers
    "imagenet": ("timm[tf_efficientnet_lite0]", "conse[]"),
    "oodbench": ("open_clip[toybox-clip]", "open_clip[toybox-clip-b]", "hf[toybox-mllm]"),
    "realbirdid": ("open_clip[toybox-clip]", "conse[]", "hf[toybox-mllm]"),
    "toybox": ("open_clip[toybox-clip]", "conse[]", "hf[toybox-mllm]"),
}
OTHERWISE = ("conse[]",)  # of a benchmark whose classes no packaged model was trained on


@dataclass(frozen=True)
class Option:
    """One option: its name without the prefix, what it takes, its default, and what it is for."""

    name: str
    help: str
    default: str = ""
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    flag: bool = False

    @property
    def long(self) -> str:
        """As on the command line."""
        return f"--eye-{self.name}"

    @property
    def kind(self) -> Literal["bool", "linelist", "string"]:
        """Its type in the ini file."""
        return "bool" if self.flag else "linelist" if self.repeatable else "string"

    @property
    def ini(self) -> str:
        """As in the ini file."""
        return f"eye_{self.name.replace('-', '_')}"


OPTIONS = (
    Option("model", "a model for every benchmark, as backend[argument,option=value,…]; NAME=… calls it NAME in cases, "
           "baselines and reports, so that another checkpoint is compared under the same name; repeatable (default: "
           + "; ".join(f"for {name} {' and '.join(models)}" for name, models in DEFAULT_MODELS.items())
           + f"; for any other {' and '.join(OTHERWISE)})",
           metavar="[NAME=]SPEC", repeatable=True),
    Option("data", "the folder that holds BENCHMARK/SPLIT folders, or hub:OWNER/NAME[:SPLIT]", metavar="ROOT"),
    Option("out", "where a run's folder is made", "reports/runs", "DIR"),
    Option("store", "where answers are kept", str(STORE), "DIR"),
    Option("limit", "only this many images of each split, a seeded choice; a k-NN support split stays whole",
           metavar="N"),
    Option("seed", "the seed of every choice", "42", "N"),
    Option("offline", "never open a connection", flag=True),
    Option("strict", "what is not there fails: a data set, which is else skipped; a case's baseline, a number in it, "
           "or a case of the baseline, where cases are compared, and a floor's number, which are else told", flag=True),
    Option("max-errors", "how many images of a case may end in an error", "0", "N"),
    Option("baseline", "compare with the baselines of this folder or file; a real loss fails its case, as do other "
           "data and a number that is gone", metavar="PATH"),
    Option("update-baseline", "write the session's baselines (to --eye-baseline, or reports/baselines), and compare "
           "with none", flag=True),
    Option("max-drop", "the largest loss that is tolerated, however significant, as a fraction below 0.5 (1 % is "
           "0.01); every loss that is tolerated because of it is reported", "0", "SHARE"),
    Option("alpha", "how unlikely a loss by chance must be, after Holm's correction over the session", "0.01", "SHARE"),
    Option("power", "say the smallest loss that each comparison would show, four times in five; without "
           "--eye-baseline, as far as the session alone can tell", flag=True),
    Option("floor", "a number that must be reached, as BENCHMARK/PROTOCOL:METRIC>=VALUE, or with <= not be passed; "
           "without a category it is over the images with a label; repeatable", metavar="FLOOR", repeatable=True),
    Option("summary", "write how the session ended, and what the gate said, to this file as Markdown", metavar="FILE"),
    Option("names", "class names: mill, openai, kisel, wordnet, or a file with a name a line", "mill", "NAME"),
    Option("templates", "prompts: 80, 7, 1, bird, name, or a file with one a line (default: the model's own, of birds "
           "bird)", "", "NAME"),
    Option("labels", "one more ground truth, as NAME=FILE; repeatable", metavar="NAME=FILE", repeatable=True),
    Option("empty", "what an image without labels counts as (default: the label set's own rule)",
           choices=("correct", "exclude", "wrong")),
    Option("equivalences", "equivalent classes: 12 (of ImageNet's classes alone; other splits have their own or none), "
           "none, or a file; strict:… does not chain",
           "12", "SET"),
    Option("categories", "how an original label agrees: up to equivalence, or to the letter", "equivalent",
           choices=("equivalent", "strict")),
    Option("preset", "options of many protocols at once: paper, the settings of the published studies, or a TOML file; "
           "--eye-set and --eye-names on the command line win over it", metavar="NAME"),
    Option("set", "an option of a protocol; several values make one case each; repeatable",
           metavar="PROTOCOL.OPTION=VALUE[,VALUE]", repeatable=True),
)  # fmt: skip


def add(parser: pytest.Parser) -> None:
    """Add every option to the command line and to the ini file."""
    group = parser.getgroup("eyechart", "eyechart: benchmark split × model as test cases")
    for option in OPTIONS:
        how: dict[str, Any] = {"action": "store_true"} if option.flag else {"metavar": option.metavar}
        if option.choices:
            how = {"choices": option.choices}
        if option.repeatable:
            how["action"] = "append"
        default = f" (default: {option.default})" if option.default else ""
        text = (option.help + default).replace("%", "%%")  # argparse formats it
        group.addoption(option.long, dest=option.ini, default=None, help=text, **how)
        parser.addini(option.ini, option.help, type=option.kind, default=None)


def refuse_typos(config: pytest.Config, args: list[str]) -> None:
    """Name the nearest option for one that is not known, on the command line and in the ini file."""
    longs, inis = [option.long for option in OPTIONS], [option.ini for option in OPTIONS]
    for argument in args:
        word = argument.partition("=")[0]
        if word.startswith("--eye") and word not in longs:
            raise pytest.UsageError(f"{word} is not an option of eyechart{did_you_mean(word, longs)}")
    written = config.inipath.read_text(encoding="utf-8") if config.inipath else ""
    for word in re.findall(r"^\s*(eye_\w+)\s*=", written, re.MULTILINE):
        if word not in inis:
            raise pytest.UsageError(
                f"{word} in {config.inipath} is not an option of eyechart{did_you_mean(word, inis)}"
            )


def text(config: pytest.Config, name: str) -> Any:
    """The value of an option: the command line, then the ini file, then the default."""
    option = next(option for option in OPTIONS if option.name == name)
    given = config.getoption(option.ini)
    if given is None:
        given = config.getini(option.ini)
    return given if given not in (None, "", []) else option.default


def number(config: pytest.Config, name: str, least: int) -> int | None:
    """A whole number, or None where nothing was said."""
    given = text(config, name)
    if given == "":
        return None
    if not str(given).isdecimal() or int(given) < least:
        raise pytest.UsageError(f"--eye-{name} must be a whole number from {least} up. Got {given!r} instead.")
    return int(given)


def share(config: pytest.Config, name: str) -> float:
    """A number from 0 to 1."""
    given = str(text(config, name))
    if not is_share(given):
        raise pytest.UsageError(f"--eye-{name} takes numbers from 0 to 1. Got {given!r} instead.")
    return float(given)


def max_drop(config: pytest.Config) -> float:
    """Return the largest loss that the gate tolerates, a fraction."""
    try:
        return parse_max_drop(str(text(config, "max-drop")))
    except EyechartError as error:
        raise pytest.UsageError(f"--eye-max-drop {error}") from error


def models(config: pytest.Config) -> tuple[ModelSpec, ...]:
    """The models asked for, or the default ones, each checked against the registry without importing it."""
    specs: list[ModelSpec] = []
    for given in text(config, "model") or chain.from_iterable(DEFAULT_MODELS.values()):
        try:
            spec = parse_named(given)
            backend(spec)
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-model: {error}") from error
        specs.append(spec)
    for one, other in combinations(dict.fromkeys(specs), 2):
        if one.alias and one.alias == other.alias:
            raise pytest.UsageError(
                f"--eye-model: the name '{one.alias}' is given to {one} and to {other}. Give each model another name."
            )
    return tuple(dict.fromkeys(specs))


def suits(config: pytest.Config, model: ModelSpec, benchmark: str) -> bool:
    """Whether a model is put to a benchmark: one asked for always, a default one where it is named."""
    return bool(text(config, "model")) or str(model) in DEFAULT_MODELS.get(benchmark, OTHERWISE)


def preset(config: pytest.Config) -> Preset:
    """Return the preset that was asked for, or an empty one."""
    name = str(text(config, "preset"))
    return read_preset(name) if name else Preset()


def protocol_options(config: pytest.Config) -> Mapping[str, Given]:
    """Return the values given for options of protocols, by protocol and option; the last one of a name wins."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    given = [Setting.parse(each) for each in config.getini("eye_set") or ()]
    given += preset(config).settings
    for setting in [*given, *map(Setting.parse, config.getoption("eye_set") or ())]:
        protocol = get_protocol(setting.protocol)
        known = {option.name: option for option in protocol.options}
        named = flag(setting.protocol, setting.option)
        if setting.option not in known:
            listed = f"It has {', '.join(known)}." if known else "It has no options."
            raise SpecError(f"{named}: there is no such option{did_you_mean(setting.option, [*known])} {listed}")
        found.setdefault(setting.protocol, {})[setting.option] = known[setting.option].values(setting.values, named)
    return found


def labels(config: pytest.Config) -> tuple[LabelsOption, ...]:
    """The further ground truths, as NAME=FILE."""
    try:
        return tuple(parse_labels_option(given) for given in text(config, "labels") or ())
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error


def check(config: pytest.Config) -> None:
    """Refuse what the command line misspells before anything runs; a case that needs it finds it in the ini file."""
    readers: dict[str, Callable[[Any], object]] = {
        "data": available,
        "names": class_names,
        "templates": templates,
        "equivalences": lambda given: pairs(given.removeprefix("strict:"), sys.maxsize),
        "labels": lambda _: [read_labels(one.path, one.format, classes=sys.maxsize) for one in labels(config)],
        "set": lambda given: check_protocol_options(config, [Setting.parse(one) for one in given]),
        "floor": lambda given: [floor(one) for one in given],
    }
    check_gate(config)
    for option in OPTIONS:
        given = config.getoption(option.ini)
        if given and option.name in readers:
            try:
                readers[option.name](given)
            except EyechartError as error:
                raise pytest.UsageError(f"{option.long}: {error}") from error


def check_gate(config: pytest.Config) -> None:
    """Refuse options of a comparison that cannot be, or that is not asked for."""
    if config.getoption("eye_baseline") == "":
        raise pytest.UsageError("--eye-baseline names nothing. Name a folder or file of baselines, or leave it out.")
    if not 0 < share(config, "alpha") < MOST_ALPHA:
        raise pytest.UsageError(
            f"--eye-alpha must be above 0 and below {MOST_ALPHA}. Got {text(config, 'alpha')} instead."
        )
    max_drop(config)
    compares = text(config, "baseline") and not text(config, "update-baseline")
    for name in () if compares else ("max-drop",) if text(config, "power") else ("max-drop", "alpha"):
        if config.getoption(f"eye_{name.replace('-', '_')}") is not None:
            raise pytest.UsageError(
                f"--eye-{name} is about a comparison, and this session makes none. Name baselines with --eye-baseline, "
                "without --eye-update-baseline, or leave it out."
            )


def check_protocol_options(config: pytest.Config, given: Iterable[Setting]) -> None:
    """Refuse values that no case could use: names of models, prompts and files."""
    found = protocol_options(config)
    for setting in given:
        option = next(each for each in get_protocol(setting.protocol).options if each.name == setting.option)
        check = option.check or (lambda *_: None)
        for value in found[setting.protocol][setting.option]:
            try:
                check(value, text(config, "data") or None)
            except EyechartError as error:
                raise type(error)(f"{setting.protocol}.{setting.option}: {error}") from error


def read_protocol_options(config: pytest.Config) -> Mapping[str, Given]:
    """Return the options of protocols, or refuse the command line."""
    try:
        return protocol_options(config)
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error


def idle(config: pytest.Config) -> list[str]:
    """Say which options of protocols change nothing."""
    found = settings(config).options.items()
    return [f"eyechart: {said}" for name, given in found if (said := get_protocol(name).warnings(given))]


def settings(config: pytest.Config) -> Settings:
    """All options as typed values, read once a session."""
    if SETTINGS not in config.stash:
        here = config.invocation_params.dir
        config.stash[SETTINGS] = Settings(
            models=models(config),
            data=text(config, "data") or None,
            out=here / text(config, "out"),
            store=here / text(config, "store"),
            limit=number(config, "limit", 1),
            seed=number(config, "seed", 0) or 0,
            offline=bool(text(config, "offline")),
            strict=bool(text(config, "strict")),
            max_errors=number(config, "max-errors", 0) or 0,
            names=text(config, "names"),
            templates=text(config, "templates") or None,
            labels=labels(config),
            empty=text(config, "empty") or None,
            equivalences=text(config, "equivalences"),
            categories=text(config, "categories"),
            options=read_protocol_options(config),
            names_of_protocols={} if config.getoption("eye_names") else preset(config).names,
        )
    return config.stash[SETTINGS]
