"""Collection of cases: one for each benchmark split and model. Nothing slow is imported to collect them."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.discovery import survey_root
from eyechart.data.splits.open_split import list_splits
from eyechart.data.splits.registry import SplitRef, includes_benchmark, is_folder
from eyechart.errors import EyechartError
from eyechart.evaluation.settings import Case
from eyechart.models.registry import capabilities
from eyechart.models.spec import ModelSpec
from eyechart.protocol.base import Protocol
from eyechart.protocol.prompts import get_prompt
from eyechart.protocol.registry import add_protocol, get_protocol, protocol_modules

from .case_ids import case_pattern, escaped, spellings, unescape_ids
from .options import get_option, is_on_command_line
from .settings import describe_ineffective_options, get_settings, is_used_for
from .workers import is_worker

PACKAGE = "eyechart.benchmarks"
FUNCTIONS = pytest.StashKey[dict[tuple[str, str, str], str]]()  # node ids of functions by name, protocol and case


def test_name(item: pytest.Item) -> str:
    """Return the name of a test in its case, such as `test_own.py::test_it`.

    The name is "" for a packaged test without other parameters. It has no folder, since the folder in a node id depends
    on where pytest is started. It includes the parameters other than the case.
    """
    inner = item.nodeid.partition("::")[2]
    callspec = getattr(item, "callspec", None)
    parameters = ""
    if callspec is not None:
        inner = inner.removesuffix(f"[{callspec.id}]")
    if callspec is not None and {*callspec.params} - {ARGUMENT}:
        parameters = callspec.id
        for value in callspec.params.values():
            if isinstance(value, Case):
                for name in (value.id, escaped(value.id)):
                    parameters = parameters.replace(name, "").strip("-")
    rest = f"[{parameters}]" if parameters else ""
    if is_packaged(item.path) and not rest:
        return ""
    return f"{item.path.name}::{inner}{rest}"


def is_packaged(path: Path) -> bool:
    """Return whether a file is a packaged benchmark, installed or in a clone."""
    return any(
        path.resolve().is_relative_to(home)
        or (path.parent.parent.name == home.name and (home / path.parent.name / path.name).is_file())
        for home in _benchmark_folders()
    )


@cache
def _benchmark_folders() -> tuple[Path, ...]:
    """Return the folders of the packaged benchmarks."""
    spec = find_spec(PACKAGE)
    return tuple(Path(home).resolve() for home in (spec.submodule_search_locations or ())) if spec else ()


def check_unique_names(config: pytest.Config, path: Path, nodeid: str, cases: Iterable[Case]) -> None:
    """Refuse a second test function of the same name, file name, protocol and case.

    The refusal is an error of the collection, so that it is shown once, with or without workers.
    """
    functions = config.stash.setdefault(FUNCTIONS, {})
    name = "" if is_packaged(path) else path.name
    for case in cases:
        key = (f"{name}::{nodeid.partition('::')[2]}", case.protocol, case.id)
        if (other := functions.setdefault(key, nodeid)) != nodeid:
            raise pytest.Collector.CollectError(
                f"{other} and {nodeid} have the same name and ask the same ({case.id}, {case.protocol}), so that their "
                "records could not be distinguished. Rename one of the functions or files."
            )


HAS_BENCHMARK = pytest.StashKey[bool]()  # whether there is a benchmark function
CASE_NODES = pytest.StashKey[set[str]]()  # the node ids of the cases that this process collected to run
ARGUMENT = "eye_case"  # the argument of test functions and fixtures that holds the case


def find_case(config: pytest.Config, nodeid: str) -> re.Match[str] | None:
    """Return the case at the end of a node id, as groups benchmark, model and choices; None for any other test.

    A controller of pytest-xdist collects no tests and knows cases by their node ids alone.
    """
    if nodeid not in config.stash.get(CASE_NODES, {nodeid}):
        return None
    return case_pattern(tuple(model.alias for model in get_settings(config).models if model.alias)).search(nodeid)


@cache
def find_splits(data: str | None, offline: bool) -> tuple[SplitRef, ...]:
    """Return the splits that can be evaluated, packaged ones first."""
    try:
        return tuple(list_splits(data, offline=offline))
    except EyechartError as error:
        raise pytest.Collector.CollectError(f"--eye-data: {error}") from error


def split_names(config: pytest.Config) -> list[str]:
    """Return the names of the splits that are there."""
    chosen = get_settings(config)
    return [str(ref) for ref in find_splits(chosen.data, chosen.offline) if not ref.missing]


def get_marker(definition: pytest.Item) -> pytest.Mark | None:
    """Return the checked `eyechart` marker of a function that requests a case, None for any other function."""
    marker = definition.get_closest_marker("eyechart")
    if ARGUMENT not in getattr(definition, "fixturenames", ()) or not marker:
        return None
    if set(marker.kwargs) != {"protocol"} or (name := protocol_name(marker)) is None:
        raise pytest.Collector.CollectError(
            f"{definition.nodeid}: @pytest.mark.eyechart takes protocol=…, a class or one of "
            f"{', '.join(protocol_modules())}, and names of benchmarks instead of the protocol's own. "
            f"Got {marker.args!r} and {marker.kwargs!r} instead."
        )
    if not benchmark_names(marker):
        raise pytest.Collector.CollectError(
            f"{definition.nodeid}: neither @pytest.mark.eyechart nor the protocol {name} names a benchmark. Give the "
            f'class `benchmarks = ("imagenet", "*")`, where "*" is every benchmark of the data root, or name '
            f'benchmarks in the mark: @pytest.mark.eyechart("imagenet", protocol=…).'
        )
    return marker


def benchmark_names(marker: pytest.Mark) -> tuple[str, ...]:
    """Return the names of the benchmarks of a mark: its own, or those of its protocol."""
    return marker.args or get_protocol(protocol_name(marker) or "").benchmarks


def protocol_name(marker: pytest.Mark) -> str | None:
    """Return the name of the protocol of a mark, which holds its name or its class; None for anything else."""
    protocol = marker.kwargs.get("protocol")
    if isinstance(protocol, type) and issubclass(protocol, Protocol):
        try:
            return add_protocol(protocol)
        except EyechartError as error:
            raise pytest.Collector.CollectError(str(error)) from error
    return protocol if isinstance(protocol, str) and protocol in protocol_modules() else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one case for each split of the benchmarks and each model that the protocol supports."""
    marker = get_marker(metafunc.definition)
    if marker is None:
        return
    chosen, name = get_settings(metafunc.config), protocol_name(marker) or ""
    protocol, names = get_protocol(name), benchmark_names(marker)
    metafunc.config.stash[HAS_BENCHMARK] = True
    cases = [
        Case(split.benchmark, split.split, model, name, variant)
        for model in chosen.models
        if protocol.supports(_find_capabilities(model))
        for split in find_splits(chosen.data, chosen.offline)
        if includes_benchmark(names, split.benchmark, split.family)
        and is_used_for(metafunc.config, model, split.benchmark)
        for variant in protocol.expand_grid(chosen.options.get(name, {}), capabilities(model))
    ]
    if cases:
        _read_prompts(protocol)
        check_unique_names(metafunc.config, metafunc.definition.path, metafunc.definition.nodeid, cases)
    metafunc.parametrize(ARGUMENT, [pytest.param(case, id=case.id) for case in cases])
    unescape_ids(metafunc, [case.id for case in cases])


def _read_prompts(protocol: Protocol[Any]) -> None:
    """Read the prompts that a protocol names. Raises CollectError, so that no case starts if one cannot be read."""
    try:
        for name in protocol.prompts:
            get_prompt(name)
    except EyechartError as error:
        raise pytest.Collector.CollectError(f"The protocol {protocol.name} cannot be asked: {error}") from error


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-k` select a case by its name in every Unicode form."""
    if case := get_case(item):
        item.extra_keyword_matches.update(spellings(case.id))


def _find_capabilities(model: ModelSpec) -> frozenset[str]:
    """Return the capabilities of a model. Raises CollectError if the class of the user cannot be imported."""
    try:
        return capabilities(model)
    except EyechartError as error:
        raise pytest.Collector.CollectError(f"--eye-model: {error}") from error


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """End a session about benchmarks with one sentence and status 4 if the class of a model cannot be imported."""
    if is_on_command_line(session.config):
        for model in get_settings(session.config).models:
            try:
                _find_capabilities(model)
            except pytest.Collector.CollectError as error:
                raise pytest.UsageError(str(error)) from error


def get_case(item: pytest.Item) -> Case | None:
    """Return the case of a test item, None for any other test."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get(ARGUMENT) if callspec else None
    return case if isinstance(case, Case) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the cases by model, and show the warnings of libraries without failing a benchmark.

    A benchmark function without a suitable model or split is deselected. pytest would report a skipped "empty parameter
    set" instead.
    """
    empty = [item for item in items if get_case(item) is None and get_marker(item) is not None]
    items[:] = [item for item in items if item not in empty]
    if empty:
        config.hook.pytest_deselected(items=empty)
    cases = {id(item): case for item in items if (case := get_case(item))}
    if not is_worker(config):  # pytest-xdist changes the node ids of workers later
        config.stash[CASE_NODES] = {item.nodeid for item in items if id(item) in cases}
    if not cases:
        return
    order = {model.name: index for index, model in enumerate(get_settings(config).models)}
    items.sort(key=lambda item: order[cases[id(item)].model.name] if id(item) in cases else -1)
    for item in items:
        if id(item) in cases:
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Return a line for each model that no protocol supports, since such a model has no case.

    If the session has options of eyechart but no test at all, return the way to the benchmarks instead.
    """
    has_benchmark = config.stash.get(HAS_BENCHMARK, False)
    protocols = [get_protocol(name) for name in protocol_modules()] if has_benchmark else []
    needed = sorted({capability for protocol in protocols for capability in protocol.requires})
    return [*_describe_missing_benchmarks(config, items)] or [
        f"eyechart: {model.name} offers {', '.join(sorted(capabilities(model)))}, which no protocol asks for; "
        f"they ask for {', '.join(needed)}"
        for model in (get_settings(config).models if has_benchmark else ())
        if not any(protocol.supports(capabilities(model)) for protocol in protocols)
    ]


def _describe_missing_benchmarks(config: pytest.Config, items: list[pytest.Item]) -> Iterator[str]:
    """Yield how to run the benchmarks if the session has a model or a data root but no test."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    left = reporter.stats.get("deselected") if reporter else None
    if (get_option(config, "data") or get_option(config, "model")) and not items and not left:
        yield "eyechart: no benchmark is here: run `eyechart run`, or give --pyargs eyechart.benchmarks"


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return a line on the data root, if the user set one, and a line for each option without an effect."""
    data = get_settings(config).data
    return [*([describe_data(data)] if data else []), *describe_ineffective_options(config)]


def describe_data(data: str) -> str:
    """Return one line on a data root: its path, its splits, and what is not evaluated with the reason."""
    if not is_folder(data):
        return f"eyechart: data from {data}"
    return f"eyechart: data from {Path(data).resolve()}: {survey_root(Path(data))}"
