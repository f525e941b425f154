"""`RunSettings`: keyword arguments of `evaluate` and `compress` that most calls leave at their defaults."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypedDict

from eyechart.errors import SpecError
from eyechart.files.folders import RUNS, STORE
from eyechart.messages.suggestions import did_you_mean


class RunSettings(TypedDict, total=False):
    """Keyword arguments about data, folders, and where models answer.

    Attributes:
        labels: Files of further label sets, by name.
        class_names: Names of the classes of a torch data set that has none.
        data_name: The name of data in memory or in a folder, as `benchmark/split`.
        data_root: The folder in which the name of a split is looked up, as for `--eye-data`.
        templates: Prompt templates of zero-shot models, as for `--eye-templates`.
        store: The folder of stored answers.
        out: The folder of runs.
        remote: The URL of a store from which answers are copied, as for `--eye-remote`.
        offline: Whether no connection may be opened.
        devices: The number of processes of a model on this machine; by default one for each GPU if there are two or
            more, else none beside this process. A model in memory always answers in this process.
        ray: The address of a Ray cluster that answers, as for `--eye-ray`.
        blank: The name of a blank that models see instead of every image, as for `--eye-blank`.
        positive: The class that is positive on splits of two classes, as for `--eye-positive`.
        slices: "attributes" to slice by attributes of the images as well, as for `--eye-slices`.
        cluster: The column of slices.csv whose values are clusters of images, as for `--eye-cluster`.
        threshold_from: The split, `benchmark/split`, on which thresholds are chosen, as for `--eye-threshold-from`.
        progress: Whether a bar is shown.
    """

    labels: Mapping[str, Path | str] | None
    class_names: Sequence[str] | Mapping[int, str]
    data_name: str
    data_root: str | None
    templates: str | None
    store: Path | str
    out: Path | str
    remote: str
    offline: bool
    devices: int | Literal["auto"]
    ray: str
    blank: str
    positive: str
    slices: Literal["", "attributes"]
    cluster: str
    threshold_from: str
    progress: bool


DEFAULTS: RunSettings = {
    "labels": None,
    "class_names": (),
    "data_name": "",
    "data_root": None,
    "templates": None,
    "store": STORE,
    "out": RUNS,
    "remote": "",
    "offline": False,
    "devices": "auto",
    "ray": "",
    "blank": "",
    "positive": "",
    "slices": "",
    "cluster": "",
    "threshold_from": "",
    "progress": True,
}

_FOLDERS = ("store", "out")
_EXPECTED: Mapping[Any, str] = {
    str: "a text",
    bool: "True or False",
    str | Path: "the path of a folder",
    Mapping | None: "a mapping such as {name: value}",
}


def check_argument(name: str, value: object, kind: Any) -> None:
    """Raise SpecError for an argument of another kind than one of a text, a truth value, a folder or a mapping."""
    if not isinstance(value, kind):
        raise SpecError(f"{name} is {value!r}. Expected {_EXPECTED[kind]}.")


def check_whole_number(name: str, value: object) -> int:
    """Return an argument that is a whole number. Raises SpecError for another one, and for a negative one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise SpecError(f"{name} is {value!r}. Expected a whole number from 0 up.")
    return int(value)


def complete_settings(function: str, settings: RunSettings) -> RunSettings:
    """Return the settings with the defaults of those that are not given.

    Raises TypeError for an unknown name, as Python does, and SpecError for a value of another type and for processes
    that cannot be started.
    """
    if unknown := [name for name in settings if name not in DEFAULTS]:
        near = did_you_mean(unknown[0], [*DEFAULTS])
        raise TypeError(f"{function}() got an unexpected keyword argument '{unknown[0]}'{near}")
    complete: RunSettings = {**DEFAULTS, **settings}
    for name, default in DEFAULTS.items():
        if isinstance(default, str | bool) and name not in (*_FOLDERS, "devices"):
            check_argument(name, complete.get(name), type(default))
    for name in _FOLDERS:
        check_argument(name, complete.get(name), str | Path)
        if Path(str(complete.get(name))).is_file():
            raise SpecError(f"{name} is '{complete.get(name)}', which is a file. Expected a folder.")
    check_argument("labels", complete["labels"], Mapping | None)
    if complete["slices"] not in ("", "attributes"):
        raise SpecError(f"slices is {complete['slices']!r}. Expected 'attributes', or '' for none.")
    devices, ray = complete["devices"], complete["ray"]
    if devices != "auto" and (ray or not isinstance(devices, int) or devices < 1):
        reason = "ray=… is given, too" if ray else f"got {devices!r}"
        raise SpecError(f"devices takes 'auto' or a whole number from 1 up, and not beside ray=…; {reason}.")
    return complete
