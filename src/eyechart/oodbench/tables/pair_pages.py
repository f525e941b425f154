"""Pages of OODBench's tables: the cases that stand in one table, in the order of its rows, and the notes about them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from eyechart.oodbench.division.pairs import HARD_SAMPLES, ID, OOD_H, OOD_S, SETS
from eyechart.oodbench.tables.pair_frames import pairs_sha256, read_pairs
from eyechart.reports.runs import CaseRun, ComparableCases, Runs, collect_notes
from eyechart.reports.tables.selection import Page, with_suffixes

OODBENCH = "OODBench"  # the label set of its metrics
PAPER = "arXiv 2602.18094"
EXISTENCE, PROGRESSION, DETECTION, DISTRIBUTION = "existence", "progression", "detection", "distribution"
SOURCES = {"coco": "COCO", "lvis": "LVIS", "nuscenes": "nuScenes", "cityscapes": "Cityscapes"}
DATA_OPTIONS = ("source", "division", "names")  # options that follow from the data set
IGNORED_OPTIONS = (*DATA_OPTIONS, "division_scope", "hard_samples")  # and those that only add pairs
SHOWN_OPTIONS = ("reasoning",)  # as a suffix of the set's name
COT, SAMPLE = "^CoT", "sample-"
SET_ORDER = (ID, OOD_S, OOD_H, HARD_SAMPLES)
SET_LABELS = {HARD_SAMPLES: "Hard Sample"}
TIME = "Time"  # the column
BOOTSTRAP = "Brackets: 95 % intervals, bootstrap over {}."
Pooled = tuple[CaseRun, ...]  # cases of one model and settings that share a row: one per data set
Pages = Callable[[Runs, str | None], list[Page]]


def source_name(case: CaseRun) -> str:
    """Return the name of the data set in the published tables."""
    name = case.option("source", case.record.split)
    return SOURCES.get(name.casefold(), name)


def set_label(name: str) -> str:
    """Return the text of the column Data Type for a set."""
    return SET_LABELS.get(name, name)


def division_sha256(case: CaseRun) -> str:
    """Return the sha256 of the division's pairs and labels."""
    return case.record.data.labels.get(OODBENCH, "")


def group_by_division(runs: Runs, protocol: str, without: Collection[str] = ()) -> list[ComparableCases]:
    """Return the cases of a protocol, grouped by division and settings; sorted by model and split."""
    groups: dict[tuple[int, str, str], list[CaseRun]] = {}
    selected = [group.with_protocols(protocol) for group in runs.groups]
    for index, group in enumerate(selected):
        for case in group.cases:
            key = (index, division_sha256(case), case.prompt_settings_without(without))
            groups.setdefault(key, []).append(case)
    return [selected[index].select(sorted(cases, key=_model_and_split)) for (index, *_), cases in groups.items()]


def pool_data_sets(runs: Runs, protocol: str, without: Collection[str] = DATA_OPTIONS) -> list[list[CaseRun]]:
    """Return the groups of cases that can be pooled over data sets: same settings, one case per model and data set."""
    by_settings: dict[tuple[str, object], list[CaseRun]] = {}
    for group in runs.groups:
        for case in group.with_protocols(protocol).cases:
            by_settings.setdefault((case.prompt_settings_without(without), case.record.limit), []).append(case)
    return [
        sorted(once, key=lambda case: (case.model, published_order(case)))
        for cases in by_settings.values()
        for once in _without_repeats(cases)
    ]


def _without_repeats(cases: Iterable[CaseRun]) -> list[list[CaseRun]]:
    """Return the cases in as few lists as possible, each with at most one case per model and data set."""
    rounds: list[dict[tuple[str, str], CaseRun]] = []
    for case in cases:
        key = _model_and_split(case)
        free = next((selected for selected in rounds if key not in selected), None)
        if free is None:
            rounds.append(free := {})
        free[key] = case
    return [list(selected.values()) for selected in rounds]


def _model_and_split(case: CaseRun) -> tuple[str, str]:
    return case.model, case.record.split


def published_order(case: CaseRun) -> tuple[int, str]:
    """Return the sort key of data sets in the order of the published tables."""
    names = [*SOURCES.values()]
    return names.index(source_name(case)) if source_name(case) in names else len(names), case.record.split


def set_order(name: str) -> tuple[int, str]:
    """Return the sort key of sets in the order of the published tables, sets of the initial benchmark last."""
    return (SET_ORDER.index(name) if name in SET_ORDER else len(SET_ORDER)), name


def _pooled_rows(models: Sequence[str]) -> pd.Series:
    """Return the first row of each model, for cases in the order of their models."""
    return pd.Series(range(len(models))).groupby(list(models)).transform("min")


def data_notes(cases: Sequence[CaseRun], without: Collection[str] = DATA_OPTIONS) -> tuple[str, ...]:
    """Return notes about the images, division and settings of cases."""
    data = dict.fromkeys(
        f"{_describe_images(case)}; division {division_sha256(case)[:12] or 'none'}." for case in cases
    )  # fmt: skip
    settings = dict.fromkeys(
        f"{case.record.protocol}: {case.prompt_settings_without(without) or 'no choices'}." for case in cases
    )
    return (*data, *settings, *collect_notes(cases))


def _describe_images(case: CaseRun) -> str:
    """Return the data set of a case with the number and fingerprint of its images."""
    record = case.record
    limited = "" if record.limit is None else f" (a random sample, seed {record.seed})"
    return (
        f"{source_name(case)}: {record.benchmark}/{record.split}, {record.data.n:,} images{limited}, fingerprint "
        f"{record.data.fingerprint[:12]}"
    )


def existence_cases(runs: Runs) -> list[CaseRun]:
    """Return the existence cases of every model, settings and data set; of duplicates the one with more pairs."""
    largest: dict[tuple[str, ...], CaseRun] = {}
    for group in runs.groups:
        for case in group.with_protocols(EXISTENCE).cases:
            key = (case.model, pair_settings(case), case.record.split, case.compute(pairs_sha256))
            largest[key] = max(largest.get(key, case), case, key=_count_pairs)
    return list(largest.values())


def pair_settings(case: CaseRun, without: Collection[str] = ()) -> str:
    """Return the settings of division and prompts, without the options that a table compares."""
    return case.prompt_settings_without((*IGNORED_OPTIONS, *without))


def _count_pairs(case: CaseRun) -> int:
    return len(case.compute(read_pairs))


def suffix(case: CaseRun) -> str:
    """Return the suffix of a set's name for chain-of-thought prompts."""
    return COT if case.option("reasoning") == "cot" else ""


def pool_models(cases: Iterable[CaseRun]) -> list[Pooled]:
    """Return the cases of each model and settings, one per data set; of two divisions of one, the larger.

    Packaged samples are not pooled with other data.
    """
    groups: dict[tuple[str, str, bool], dict[str, CaseRun]] = {}
    for case in cases:
        split = case.record.split
        data_sets = groups.setdefault((case.model, pair_settings(case), split.startswith(SAMPLE)), {})
        data_sets[split] = max(data_sets.get(split, case), case, key=_count_pairs)
    return [tuple(sorted(data_sets.values(), key=published_order)) for data_sets in groups.values()]


def group_by_pairs(rows: Iterable[Pooled]) -> list[list[Pooled]]:
    """Return the pooled cases grouped by pairs, most data sets first; models by name, chain of thought last."""
    groups: dict[object, list[Pooled]] = {}
    for cases in rows:
        groups.setdefault(tuple((case.record.split, case.compute(pairs_sha256)) for case in cases), []).append(cases)
    tables = sorted(groups.values(), key=lambda of: (-len(of[0]), *map(published_order, of[0])))
    return [sorted(of, key=lambda cases: (cases[0].model, suffix(cases[0]), pair_settings(cases[0]))) for of in tables]


def existence_page(rows: Sequence[Pooled], title: str, without: Collection[str] = ()) -> Page:
    """Return the page of pooled cases, one row each.

    Its names have the columns Model (a letter marks different settings), Data (the data sets), Suffix (of the names of
    sets) and Pooled (the row of the first case that shares the row). `without` are the options that the table compares.
    """
    first = [cases[0] for cases in rows for _ in cases]
    settings = _settings_by_suffix(first, without)
    names = pd.DataFrame(
        {
            "Model": [_model_label(case, settings[suffix(case)], without) for case in first],
            "Data": [_data_label(cases) for cases in rows for _ in cases],
            "Suffix": [suffix(case) for case in first],
            "Pooled": _pooled_rows([str(row) for row, cases in enumerate(rows) for _ in cases]),
        }
    )
    cases = tuple(case for pooled in rows for case in pooled)
    return Page(cases=cases, title=title, names=names, notes=tuple(_pair_notes(cases, settings)))


def _data_label(cases: Sequence[CaseRun]) -> str:
    """Return the data sets of pooled cases, such as `COCO + LVIS`."""
    return " + ".join(map(source_name, cases))


def _settings_by_suffix(cases: Sequence[CaseRun], without: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the different settings, by suffix of the set's name."""
    known = sorted({(suffix(case), pair_settings(case, without)) for case in cases})
    return {mark: [settings for other, settings in known if other == mark] for mark, _ in known}


def _model_label(case: CaseRun, settings: Sequence[str], without: Collection[str]) -> str:
    """Return the text of the column Model, with the letter of the case's settings if there are several."""
    letter = _index_letter(settings.index(pair_settings(case, without)))
    return f"{case.model} ({letter})" if len(settings) > 1 else case.model


def _index_letter(index: int) -> str:
    """Return a, b, c, … for an index, or its number from 26 on."""
    return chr(ord("a") + index) if index < 26 else str(index)


def _pair_notes(cases: Sequence[CaseRun], settings: dict[str, list[str]]) -> Iterator[str]:
    """Yield the notes of a page of existence: the data sets with their pairs, and the settings."""
    yield from dict.fromkeys(map(_describe_pairs, cases))
    for mark, texts in settings.items():
        for index, text in enumerate(texts):
            which = f" ({_index_letter(index)})" if len(texts) > 1 else ""
            yield f"Set{mark}{which}: {text or 'no choices'}."
    yield from collect_notes(cases)


def _describe_pairs(case: CaseRun) -> str:
    """Return a note about a data set: its images, its fingerprint, and the pairs of each set."""
    pairs = case.compute(read_pairs)
    counts = pairs.loc[pairs["main"], "subset"].value_counts()
    sizes = ", ".join(f"{name} {counts.get(name, 0):,}" for name in SETS)
    return f"{_describe_images(case)}; pairs {sizes} ({case.compute(pairs_sha256)[:12]})."


def pooled_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return a page for all models with the same pairs, all data sets of a model pooled."""
    groups = group_by_pairs(pool_models(existence_cases(runs)))
    return with_suffixes([*map(data_page, groups)], SHOWN_OPTIONS)


def data_page(rows: Sequence[Pooled]) -> Page:
    """Return the page of pooled cases, whose title names their data sets."""
    page = existence_page(rows, _data_label(rows[0]))
    return replace(page, context={"data": page.title, "pairs": page.cases[0].compute(pairs_sha256)[:12]})


def source_pages(source: str) -> Pages:
    """Return the function that returns a page for all models with the same pairs of one data set."""

    def pages(runs: Runs, _: str | None) -> list[Page]:
        groups = group_by_pairs((case,) for case in existence_cases(runs) if source_name(case) == source)
        every = []
        for rows in groups:
            first = rows[0][0]
            split = f"{first.record.benchmark}/{first.record.split}"
            context = {"split": split, "pairs": first.compute(pairs_sha256)[:12]}
            every.append(replace(existence_page(rows, split), context=context))
        return with_suffixes(every, SHOWN_OPTIONS)

    return pages


def progression_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return a page for all progression cases with the same settings, all data sets of a model pooled."""
    return with_suffixes([_progression_page(cases) for cases in pool_data_sets(runs, PROGRESSION)])


def _progression_page(cases: Sequence[CaseRun]) -> Page:
    """Return the page of cases with the same settings; Pooled is the row of the first case of the same model."""
    models = [case.model for case in cases]
    data = {name: _data_label([case for case in cases if case.model == name]) for name in models}
    names = pd.DataFrame(
        {"Model": models, "Data": [data[name] for name in models], "Pooled": _pooled_rows(models)}
    )  # fmt: skip
    title = " + ".join(dict.fromkeys(map(source_name, sorted(cases, key=published_order))))
    context = {"asked": cases[0].prompt_settings_without(DATA_OPTIONS)}
    return Page(cases=tuple(cases), title=title, names=names, notes=data_notes(cases), context=context)


def settings_pages(protocol: str, source: str = "") -> Pages:
    """Return the function that returns a page per division and settings of a protocol, of one data set if named."""

    def pages(runs: Runs, _: str | None) -> list[Page]:
        groups = [
            group
            for group in group_by_division(runs, protocol)
            if not source or source_name(group.cases[0]) == source
        ]  # fmt: skip
        return with_suffixes([division_page(group) for group in groups])

    return pages


def division_page(group: ComparableCases) -> Page:
    """Return the page of cases with the same division and settings, a row each."""
    return Page(
        cases=group.cases, title=group.title, names=pd.DataFrame({"Model": [case.model for case in group.cases]}),
        notes=data_notes(group.cases), context={"split": group.title, "asked": group.cases[0].prompt_settings},
    )  # fmt: skip


def time_note(page: Page) -> str:
    """Return a note about the column Time and the devices of the models."""
    devices = {case.model: case.record.model.device for case in page.cases}
    used = "".join(f" {model} on {device}." for model, device in devices.items() if device)
    meaning = "Time: how long it took to ask, of the set that was asked first with a model's start"
    return f"{meaning}; kept: answers of an earlier run.{used}"


def set_time(case: CaseRun, name: str) -> str | None:
    """Return the time of a set, "kept" if answers come from an earlier run; None for a replay."""
    usage = case.record.usage
    timing = usage.sets.get(name) if usage else None
    if timing is None or case.record.model.backend == "replay":
        return None
    if timing.fresh < timing.answers:
        return "kept"
    minutes, seconds = divmod(round(timing.seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
