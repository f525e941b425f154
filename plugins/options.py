"""The options of the plugin as strings: `--eye-…` on the command line and `eye_…` in the ini file.

Every pytest session in an environment with eyechart imports this module, so it imports nothing slow. `settings`,
`device_options`, `gate_options`, `shard` and `tracking` convert the strings to typed values.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from eyechart.files.folders import RUNS, STORE, expand_home

FIXTURES = "eye_"  # the prefix of the fixtures that need the plugin
FALLBACK_MODELS = ("conse[]",)  # of a data set that names no `default_models`


@dataclass(frozen=True)
class Option:
    """One option: its name without the prefix, its help, default, kind of value and choices."""

    name: str
    help: str
    default: str = ""
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    flag: bool = False

    @property
    def flag_name(self) -> str:
        """The name on the command line."""
        return f"--eye-{self.name}"

    @property
    def ini_type(self) -> Literal["bool", "linelist", "string"]:
        """The type in the ini file."""
        return "bool" if self.flag else "linelist" if self.repeatable else "string"

    @property
    def ini_name(self) -> str:
        """The name in the ini file."""
        return f"eye_{self.name.replace('-', '_')}"


EVERYDAY = (
    Option("model", "a model, as backend[argument,option=value,…]; NAME=SPEC sets the name of the model in cases, "
           "baselines and reports, to compare another checkpoint under the same name; repeatable (default: the models "
           f"that each packaged data set names; for any other benchmark {' and '.join(FALLBACK_MODELS)})",
           metavar="[NAME=]SPEC", repeatable=True),
    Option("data", "folder of the data, with BENCHMARK/SPLIT folders in it, its URL, or hub:OWNER/NAME[:SPLIT]",
           metavar="ROOT"),
    Option("limit", "number of images of each split, or of each class as in 10/class, drawn with the seed; a k-NN "
           "support split stays whole", metavar="N[/class]"),
    Option("set", "set an option of a protocol; several values make one case each; repeatable",
           metavar="PROTOCOL.OPTION=VALUE[,VALUE]", repeatable=True),
    Option("preset", "set options of many protocols: paper (the settings of the four published studies), one study "
           "(image-classifiers, mill, oodbench, realbirdid), another preset of `eyechart ls presets`, or a TOML file; "
           "--eye-set, --eye-names, --eye-templates and --eye-limit on the command line take precedence",
           metavar="NAME"),
    Option("names", "class names: mill, openai, kisel, wordnet, or a file with one name per line", "mill", "NAME"),
    Option("labels", "add a label set from a file; repeatable", metavar="NAME=FILE", repeatable=True),
    Option("baseline", "compare with the baselines in this folder or file; a case fails if a metric regressed, if the "
           "data changed, or if a metric of the baseline is missing", metavar="PATH"),
    Option("update-baseline", "write baselines (to --eye-baseline, or to reports/baselines) instead of comparing with "
           "them", flag=True),
    Option("out", "folder for the results; each run creates a folder in it", str(RUNS), "DIR"),
)  # fmt: skip
ADVANCED = (
    Option("store", "folder of the cached answers", str(STORE), "DIR"),
    Option("remote", "URL of a store, such as s3://…, whose answers are copied if they are not in --eye-store",
           metavar="URL"),
    Option("seed", "seed of every random choice", "42", "N"),
    Option("offline", "never open a network connection", flag=True),
    Option("answer", "only store the answers that are missing; nothing is scored (as `eyechart answer`)", flag=True),
    Option("stored", "only score stored answers, without weights and without the packages of models; a case without "
           "answers fails with the command that makes them", flag=True),
    Option("shard", "run one part of the selected cases, such as 3/16 for the third of 16 jobs that divide them; each "
           "job has a store of its own, and the stores are merged", metavar="K/N"),
    Option("devices", "processes of each model on this machine: a number, or auto (one for each GPU if there are two "
           "or more, else none beside this process)", "auto", "N"),
    Option("ray", "answer on a Ray cluster: auto (the cluster that runs here), an address, or local (a cluster of this "
           "machine alone, for this session)", metavar="ADDRESS"),
    Option("ray-actors", "processes of each model on the cluster (default: one for each GPU, or for each node without "
           "GPUs)", metavar="N"),
    Option("ray-gpus", "GPUs of each process of a backend on the cluster (default: 1, or as many as the options of the "
           "model say)", metavar="BACKEND=N,…"),
    Option("blank", "show models a blank instead of every image, to see what is answered without looking: black, "
           "grey, or noise1, noise2 and so on; the table `blind` puts these cases beside those with images",
           metavar="NAME"),
    Option("slices", "also slice every case by attributes of its images: size, JPEG quality, brightness, sharpness and "
           "others, cut at their quartiles", choices=("attributes",)),
    Option("strict", "fail instead of skip if a data set is missing; also fail if the baseline of a case, a metric in "
           "it, a case of the baseline, or the metric of a floor is missing", flag=True),
    Option("max-errors", "number of images per case that may end in an error", "0", "N"),
    Option("max-drop", "largest regression that is tolerated even if it is significant, as a fraction below 0.5 "
           "(1 % is 0.01); tolerated regressions are reported", "0", "SHARE"),
    Option("margin", "loss that must be excluded for the verdict no regression, as a fraction below 0.5; a case fails, "
           "with status 13, if its primary metric is inconclusive", metavar="SHARE"),
    Option("sequential", "ask about images in random order and stop a case when its primary metric shows a regression, "
           "or no loss of --eye-margin", flag=True),
    Option("gate", "metrics whose regression fails a case: accuracy, score (log score, Brier score and "
           "calibration error), or both: accuracy,score", "accuracy", "KINDS"),
    Option("policy", "TOML file with tiers, margins and tolerated losses of some metrics, and floors; of a "
           "pyproject.toml, the table [tool.eyechart.gate]", metavar="FILE"),
    Option("alpha", "significance level of a regression, adjusted for all primary metrics of the session, for all "
           "other metrics and for all proper scores", "0.01", "SHARE"),
    Option("power", "report the smallest regression that each comparison detects with a power of 80 %; without "
           "--eye-baseline, estimated from this session", flag=True),
    Option("floor", "fail if a metric is below a value, as BENCHMARK/PROTOCOL:METRIC>=VALUE, or above it with <=; "
           "without a subset, the metric over the images that have a label; repeatable",
           metavar="FLOOR", repeatable=True),
    Option("summary", "write the result of the session and of the comparison to this Markdown file", metavar="FILE"),
    Option("verdicts", "write the verdicts of the comparison to this JSON file", metavar="FILE"),
    Option("track", "log the results at the end of the session to an experiment tracker (wandb, mlflow or trackio), "
           "each model as a run of the project (default: eyechart); several with commas, or repeatable",
           metavar="NAME[:PROJECT]", repeatable=True),
    Option("templates", "prompt templates: 80, 7, 1, bird, name, or a file with one per line (default: those of the "
           "model; bird for RealBirdID)", "", "NAME"),
    Option("empty-labels", "how to score an image without labels (default: the rule of the label set)",
           choices=("correct", "exclude", "wrong")),
    Option("equivalences", "equivalent classes: 12 (published pairs of ImageNet's classes; other splits have their own "
           "or none), none, or a file; strict:… does not chain pairs", "12", "SET"),
    Option("categories", "whether an original label agrees with a label set up to equivalence, or only if it is the "
           "same class", "equivalent", choices=("equivalent", "strict")),
    Option("positive", "the class that is positive on splits of two classes, such as defect: models with scores then "
           "have sensitivity, specificity and average precision", "", "CLASS"),
    Option("cluster", "the column of slices.csv whose images are not independent, such as patient or device: intervals "
           "and tests of image classification then count its values, not images", "", "COLUMN"),
    Option("threshold-from", "the split on which the thresholds for a specificity and a sensitivity of 95 % are chosen "
           "with the same model; sensitivity and specificity at them are reported (with --eye-positive)", "",
           "BENCHMARK/SPLIT"),
)  # fmt: skip
OPTIONS = EVERYDAY + ADVANCED
GROUPS = {
    "eyechart": ("eyechart: one test case for each benchmark split and model", EVERYDAY),
    "eyechart-advanced": ("eyechart: advanced options", ADVANCED),
}


def add_options(parser: pytest.Parser) -> None:
    """Add every option to the command line and to the ini file."""
    for name, (title, options) in GROUPS.items():
        group = parser.getgroup(name, title)
        for option in options:
            how: dict[str, Any] = {"action": "store_true"} if option.flag else {"metavar": option.metavar}
            if option.choices:
                how = {"choices": option.choices}
            if option.repeatable:
                how["action"] = "append"
            default = f" (default: {option.default})" if option.default else ""
            text = (option.help + default).replace("%", "%%")  # argparse formats it
            group.addoption(option.flag_name, dest=option.ini_name, default=None, help=text, **how)
            parser.addini(option.ini_name, option.help, type=option.ini_type, default=None)


def check_spelling(config: pytest.Config, args: list[str]) -> None:
    """Refuse an unknown option on the command line or in the ini file, and suggest the nearest name."""
    for argument in args:
        word = argument.partition("=")[0]
        if word.startswith("--eye"):
            _refuse_unknown(word, "", [option.flag_name for option in OPTIONS])
    text = config.inipath.read_text(encoding="utf-8") if config.inipath else ""
    known = [option.ini_name for option in OPTIONS]
    for word in re.findall(r"^\s*(eye_\w+)\s*=", text, re.MULTILINE):
        _refuse_unknown(word, f" in {config.inipath}", known)
    for word in re.findall(r"^\s*[\"']?([\w-]+)[\"']?\s*=", text, re.MULTILINE):
        spelled = word.replace("-", "_").casefold().removeprefix("__")  # as on the command line
        if spelled in known and spelled != word:
            raise pytest.UsageError(f"{word} in {config.inipath} is not an option of eyechart; did you mean {spelled}?")


def _refuse_unknown(word: str, location: str, known: Sequence[str]) -> None:
    """Refuse a word that is not among the known ones, and suggest the nearest of them."""
    if word not in known:
        from eyechart.messages.suggestions import did_you_mean

        raise pytest.UsageError(f"{word}{location} is not an option of eyechart{did_you_mean(word, known)}")


def has_any_option(config: pytest.Config) -> bool:
    """Return whether the command line or the ini file has an option of eyechart."""
    return is_on_command_line(config) or any(config.getini(option.ini_name) for option in OPTIONS)


def needs_plugin(fixtures: Sequence[str]) -> bool:
    """Return whether a test with these fixtures needs the plugin, directly or through other fixtures."""
    return any(name.startswith(FIXTURES) for name in fixtures)


def is_on_command_line(config: pytest.Config) -> bool:
    """Return whether the command line has an option of eyechart, so that the session is about benchmarks."""
    return any(config.getoption(option.ini_name) is not None for option in OPTIONS)


OF_SCORES = ("baseline", "update-baseline", "sequential", "track")


def get_option(config: pytest.Config, name: str) -> Any:
    """Return the value of an option: from the command line, else from the ini file, else the default.

    Options about scores in the ini file have no effect in a session that only stores answers.
    """
    option = next(option for option in OPTIONS if option.name == name)
    value = config.getoption(option.ini_name)
    if value is None and not (name in OF_SCORES and get_option(config, "answer")):
        value = config.getini(option.ini_name)
    if isinstance(value, str):
        value = expand_home(value)
    return value if value not in (None, "", []) else option.default


def read_count(config: pytest.Config, name: str, least: int) -> int | None:
    """Return the value of an option as a whole number, None if it is not set."""
    value = get_option(config, name)
    if value == "":
        return None
    if not str(value).isdecimal() or int(value) < least:
        raise pytest.UsageError(f"--eye-{name} must be a whole number from {least} up. Got {value!r} instead.")
    return int(value)
