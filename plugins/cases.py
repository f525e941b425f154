"""Every benchmark split × model is a case; nothing heavy is imported to find them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from eyechart.data.discovery import SplitRef, survey_root
from eyechart.data.splits import PACKAGED, list_splits
from eyechart.errors import EyechartError
from eyechart.models.registry import capabilities
from eyechart.protocol.base import Protocol
from eyechart.protocol.registry import add_protocol, get_protocol, protocol_targets
from eyechart.protocol.settings import Case

from .case_ids import case_pattern
from .options import get_option
from .own_tests import check_unique_names
from .settings import describe_ineffective_options, get_settings, is_used_for

ANY = "*"  # among the names of a mark: every benchmark of the data root that is not a packaged one
HAS_BENCHMARK = pytest.StashKey[bool]()  # whether there is a benchmark function
ARGUMENT = "eye_case"  # what a case is called where a test function or a fixture asks for it


def find_case(config: pytest.Config, nodeid: str) -> re.Match[str] | None:
    """Return the case at the end of a node id, as groups benchmark, model and choices; None for any other test."""
    return case_pattern(tuple(model.alias for model in get_settings(config).models if model.alias)).search(nodeid)


@cache
def get_splits(data: str | None) -> tuple[SplitRef, ...]:
    """The splits that can be asked about, packaged ones first."""
    try:
        return tuple(list_splits(data))
    except EyechartError as error:
        raise pytest.Collector.CollectError(f"--eye-data: {error}") from error


def get_marker(definition: pytest.Item) -> pytest.Mark | None:
    """The `eyechart` marker of a function that asks for a case, its arguments checked."""
    marker = definition.get_closest_marker("eyechart")
    if ARGUMENT not in getattr(definition, "fixturenames", ()) or not marker:
        return None
    if set(marker.kwargs) != {"protocol"} or protocol_name(marker) is None or not marker.args:
        raise pytest.Collector.CollectError(
            f"{definition.nodeid}: @pytest.mark.eyechart takes names of benchmarks and protocol=…, a class or one of "
            f"{', '.join(protocol_targets())}. Got {marker.args!r} and {marker.kwargs!r} instead."
        )
    return marker


def protocol_name(marker: pytest.Mark) -> str | None:
    """Return the name of the protocol of a mark, which names it or gives its class; None for anything else."""
    protocol = marker.kwargs.get("protocol")
    if isinstance(protocol, type) and issubclass(protocol, Protocol):
        try:
            return add_protocol(protocol)
        except EyechartError as error:
            raise pytest.Collector.CollectError(str(error)) from error
    return protocol if isinstance(protocol, str) and protocol in protocol_targets() else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one case for every split of the marker's benchmarks and every model for it that offers the interface."""
    marker = get_marker(metafunc.definition)
    if marker is None:
        return
    chosen, name = get_settings(metafunc.config), protocol_name(marker) or ""
    protocol = get_protocol(name)
    metafunc.config.stash[HAS_BENCHMARK] = True
    cases = [
        Case(split.benchmark, split.split, model, name, variant)
        for model in chosen.models
        if protocol.supports(capabilities(model))
        for split in get_splits(chosen.data)
        if is_named(split, marker) and is_used_for(metafunc.config, model, split.benchmark)
        for variant in protocol.expand_grid(chosen.options.get(name, {}), capabilities(model))
    ]
    if cases:
        check_unique_names(metafunc.config, metafunc.definition.path, metafunc.definition.nodeid, cases)
    metafunc.parametrize(ARGUMENT, [pytest.param(case, id=case.id) for case in cases])


def is_named(split: SplitRef, marker: pytest.Mark) -> bool:
    """Whether a mark names a split's benchmark, or every other one and it is not a packaged one."""
    return split.benchmark in marker.args or (ANY in marker.args and split.benchmark not in PACKAGED)


def get_case(item: pytest.Item) -> Case | None:
    """The case of a test item, None for any other test."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get(ARGUMENT) if callspec else None
    return case if isinstance(case, Case) else None


def is_empty(item: pytest.Item) -> bool:
    """Whether pytest made this item of a benchmark function without any case."""
    return get_case(item) is None and get_marker(item) is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the cases of a model side by side; a library's warning is shown but fails no benchmark.

    A benchmark function that no model or split asked for suits is no case, and not pytest's "empty parameter set".
    """
    empty = [item for item in items if is_empty(item)]
    items[:] = [item for item in items if item not in empty]
    if empty:
        config.hook.pytest_deselected(items=empty)
    cases = {id(item): case for item in items if (case := get_case(item))}
    if not cases:
        return
    order = {model.name: place for place, model in enumerate(get_settings(config).models)}
    items.sort(key=lambda item: order[cases[id(item)].model.name] if id(item) in cases else -1)
    for item in items:
        if id(item) in cases:
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Name the models that no protocol can put a question to, which would otherwise be missing in silence.

    So would all benchmarks be where pytest is given options of ours in a folder that has none of them.
    """
    has_benchmark = config.stash.get(HAS_BENCHMARK, False)
    protocols = [get_protocol(name) for name in protocol_targets()] if has_benchmark else []
    needed = sorted({capability for protocol in protocols for capability in protocol.requires})
    return [*describe_missing_benchmarks(config, items)] or [
        f"eyechart: {model.name} offers {', '.join(sorted(capabilities(model)))}, which no protocol asks for; "
        f"they ask for {', '.join(needed)}"
        for model in (get_settings(config).models if has_benchmark else ())
        if not any(protocol.supports(capabilities(model)) for protocol in protocols)
    ]


def describe_missing_benchmarks(config: pytest.Config, items: list[pytest.Item]) -> Iterator[str]:
    """Where benchmarks are, if somebody asks for them where there is no test at all."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    left = reporter.stats.get("deselected") if reporter else None
    if (get_option(config, "data") or get_option(config, "model")) and not items and not left:
        yield "eyechart: no benchmark is here: give --pyargs eyechart.benchmarks, or run pytest where it was cloned"


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say where the data come from, when somebody said so, what was found there, and which options do nothing."""
    data = get_settings(config).data
    return [*([describe_data(data)] if data else []), *describe_ineffective_options(config)]


def describe_data(data: str) -> str:
    """Return one line on a data root: where it is, which splits it has, and what in it is not evaluated, and why."""
    if data.startswith("hub:"):
        return f"eyechart: data from {data}"
    return f"eyechart: data from {Path(data).resolve()}: {survey_root(Path(data))}"
