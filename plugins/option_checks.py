"""Checks of the options before any test runs: unusable values, and options that contradict one another.

The hooks check files with class indices or names: such a file is valid for the classes of one benchmark only.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.labels.class_names import VOCABULARIES, load_class_names, load_templates
from eyechart.data.labels.equivalences import equivalent_pairs
from eyechart.data.labels.label_files import read_labels
from eyechart.data.splits.open_split import list_splits
from eyechart.errors import EyechartError
from eyechart.evaluation.settings import Settings
from eyechart.files.path_encoding import check_locale
from eyechart.gate.policy.floors import parse_floor
from eyechart.inference.store.copies import RemoteStore
from eyechart.protocol.options import OptionSetting
from eyechart.protocol.registry import get_protocol
from eyechart.results.glossary import glossary
from eyechart.results.metric_definitions import metric_definitions

from .cases import find_case
from .device_options import check_devices, check_ray
from .gate_options import check_gate
from .options import OPTIONS, get_option
from .settings import get_settings, parse_protocol_options, read_label_options, read_models, read_suite_options
from .shard import read_shard
from .tracking import check_trackers
from .workers import is_worker


def check_options(config: pytest.Config) -> None:
    """Refuse wrong values on the command line before any test runs; wrong values in the ini file fail the cases."""
    readers: dict[str, Callable[[Any], object]] = {
        "data": lambda data: list_splits(data, offline=bool(get_option(config, "offline"))),
        "names": load_class_names,
        "templates": load_templates,
        "equivalences": lambda text: equivalent_pairs(text.removeprefix("strict:"), sys.maxsize),
        "labels": lambda _: [
            read_labels(labels.path, labels.format, classes=sys.maxsize) for labels in read_label_options(config)
        ],
        "set": lambda texts: _check_protocol_options(config, [OptionSetting.parse(text) for text in texts]),
        "remote": lambda url: RemoteStore(url, Path(), offline=bool(get_option(config, "offline"))),
        "floor": lambda texts: [parse_floor(text) for text in texts],
    }
    try:
        check_locale(Path.cwd(), config.rootpath, *config.invocation_params.args)
        metric_definitions()  # two packages that contradict one another would fail every case
        glossary()
    except EyechartError as error:
        raise pytest.UsageError(str(error)) from error
    check_gate(config)
    _check_stored(config)
    check_trackers(config)
    read_shard(config)
    check_devices(config)
    check_ray(config, read_models(config))
    _check_preset(config)
    for option in OPTIONS:
        if config.getoption(option.ini_name) and option.name in readers:
            try:
                readers[option.name](get_option(config, option.name))
            except EyechartError as error:
                raise pytest.UsageError(f"{option.flag_name}: {error}") from error


def _check_stored(config: pytest.Config) -> None:
    """Refuse options that contradict one another: answers are made, or read, or compared."""
    if get_option(config, "answer"):
        for name in ("stored", "baseline", "update-baseline", "sequential", "track"):
            if get_option(config, name):
                raise pytest.UsageError(f"--eye-answer only stores answers. Leave out --eye-{name}.")
    if get_option(config, "stored") and get_option(config, "ray"):
        raise pytest.UsageError("--eye-stored asks no model, so that it needs no cluster. Leave out --eye-ray.")


def _check_preset(config: pytest.Config) -> None:
    """Refuse options of the suite in a preset for an unknown protocol, and unknown class names and templates."""
    load: dict[str, Callable[[str], object]] = {"names": load_class_names, "templates": load_templates}
    for protocol, options in read_suite_options(config).items():
        try:
            get_protocol(protocol)
            for name in options.keys() & load.keys():
                load[name](options[name])
        except EyechartError as error:
            raise pytest.UsageError(f"--eye-preset={get_option(config, 'preset')}: [{protocol}] {error}") from error


def _check_protocol_options(config: pytest.Config, settings: Iterable[OptionSetting]) -> None:
    """Refuse unusable values of protocol options: names of models, prompts and files."""
    requested = parse_protocol_options(config)
    for setting in settings:
        option = next(option for option in get_protocol(setting.protocol).options if option.name == setting.option)
        check = option.check or (lambda *_: None)
        for value in requested[setting.protocol][setting.option]:
            try:
                check(value, get_option(config, "data") or None)
            except EyechartError as error:
                raise type(error)(f"{setting.protocol}.{setting.option}: {error}") from error


def _file_options(settings: Settings) -> Iterator[str]:
    """Yield the options that name a file of class indices or class names."""
    yield from (f"--eye-labels={labels.name}={labels.path}" for labels in settings.labels)
    if settings.equivalences.removeprefix("strict:") not in ("12", "none"):
        yield f"--eye-equivalences={settings.equivalences}"
    if settings.names not in VOCABULARIES:
        yield f"--eye-names={settings.names}"


def _check_single_benchmark(config: pytest.Config, ids: Iterable[str]) -> None:
    """Refuse such a file if the selected cases are of several benchmarks."""
    benchmarks = sorted({case["benchmark"] for name in ids if (case := find_case(config, name))})
    option = next(_file_options(get_settings(config)), None) if len(benchmarks) > 1 else None
    if option:
        raise pytest.UsageError(
            f"{option} is a file for the classes of one benchmark, and cases of {' and '.join(benchmarks)} are "
            f"selected. Choose one with {' or '.join(f'-k {name}/' for name in benchmarks)}"
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Check the selected cases; under pytest-xdist only the controller checks, so that the error is shown once."""
    if not is_worker(session.config):
        _check_single_benchmark(session.config, [item.nodeid for item in session.items])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Check the cases that a worker collected."""
    _check_single_benchmark(node.config, ids)
