"""The options as pytest knows them: `--eye-…` on the command line and `eye_…` in the ini file, as plain strings.

Every pytest session on a machine with eyechart imports this module, so that it imports nothing slow: `settings` does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from eyechart.paths import STORE

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
    from eyechart.spec import did_you_mean

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
