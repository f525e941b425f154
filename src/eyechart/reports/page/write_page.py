"""Write the page: static files, data and images."""

import gc
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from eyechart.errors import ReportError
from eyechart.files.folders import STORE
from eyechart.gate.baselines.stored_cases import is_run, source_names
from eyechart.gate.verdicts.decide import DEFAULT_RULE, Rule
from eyechart.messages.plurals import count_of
from eyechart.protocol.imported import recorded_protocol
from eyechart.reports.page.case_rows import case_rows, lettered_settings, metric_rows, run_rows, trend
from eyechart.reports.page.changes import Changes, SamplePositions, compare_with_previous
from eyechart.reports.page.chunks import FOLDER as DATA
from eyechart.reports.page.chunks import write_chunk
from eyechart.reports.page.page_charts import accuracy_rows, confusion_rows, coverage_curves
from eyechart.reports.page.page_tables import FOLDER as FIGURES
from eyechart.reports.page.page_tables import write_figures, write_tables
from eyechart.reports.page.previous import find_previous
from eyechart.reports.page.rankings import rank_cases, rank_rows
from eyechart.reports.page.sample_files import write_sample_group
from eyechart.reports.page.sample_groups import CaseSamples, SampleGroup, SampleLoader
from eyechart.reports.page.thumbnails import ThumbnailWriter
from eyechart.reports.page.verdict_banner import summarise_verdict
from eyechart.reports.runs import Runs, load
from eyechart.results.glossary import INTERVALS, describe_label_set, describe_metric, describe_subset
from eyechart.results.records import Record

SCHEMA = 1
_STATIC_FILES = ("page.css", "page.js", "index.html")  # the last is written last
MARK = "a page of eyechart;"
GLOSSARY = ("metrics", "labels", "subsets", "protocols", "intervals")  # sections of the legend


@dataclass(frozen=True)
class PageOptions:
    """The options of `page`: runs, baseline, answers of annotators, images, and the size of thumbnails (0: none)."""

    runs: tuple[Path, ...]
    baseline: Path | None = None
    data: str | None = None
    store: Path = STORE
    side: int = 320
    figures: bool = True
    rule: Rule = DEFAULT_RULE
    annotations: tuple[Path, ...] = ()

    @property
    def baseline_name(self) -> str:
        """Return the name of what metrics are compared with."""
        if self.baseline is None:
            return "the run before"
        is_kept = not self.baseline.exists() or not is_run(self.baseline)
        return "/".join(self.baseline.parts[-2:]) if is_kept else source_names([self.baseline])[0]


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the collector of cycles, which would visit millions of texts again and again and find nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_collection()
def write_page(options: PageOptions, folder: Path, progress: Callable[[str], None] = lambda _: None) -> list[str]:
    """Write the page into a folder, and return the notes to print; `progress` is called with each step."""
    runs = replace(load(options.runs), annotations=options.annotations)
    loader = SampleLoader(options.data, options.store, progress=progress)
    loader.list_splits(options.data)  # raise an error if the root is no folder; missing splits are left without images
    _clear_folder(folder)
    previous = find_previous(runs, options.baseline, options.runs)
    changes = compare_with_previous(
        runs, previous, options.baseline_name, options.rule, options.baseline, options.store
    )
    group_summaries, sample_positions = _write_groups(
        folder, runs, changes, ThumbnailWriter(folder, options.side), loader
    )
    index = _write_index(folder, runs, options, changes, sample_positions, progress)
    index["notes"] = [*runs.notes, *loader.notes, *index["notes"], *lettered_settings(runs)]
    write_chunk(folder, "index", index | {"groups": group_summaries})
    for name in _STATIC_FILES:
        shutil.copyfile(str(files(__package__).joinpath("assets", name)), folder / name)
    return [*loader.notes, *changes.not_compared()]


def _clear_folder(folder: Path) -> None:
    """Remove the data of an earlier page, but not its thumbnails; raise ReportError if the folder is no page."""
    index = folder / "index.html"
    if folder.is_dir() and any(folder.iterdir()):
        if not index.is_file() or MARK not in index.read_text("utf-8", "replace")[:500]:
            raise ReportError(f"{folder} contains files that are not a page of eyechart. Give another folder as --out.")
        for name in (DATA, FIGURES):
            shutil.rmtree(folder / name, ignore_errors=True)


def _write_groups(
    folder: Path, runs: Runs, changes: Changes, thumbnails: ThumbnailWriter, loader: SampleLoader
) -> tuple[list[dict[str, Any]], SamplePositions]:
    """Write every sample group, one at a time, and return their entries of the index and where the samples are."""
    summaries: list[dict[str, Any]] = []
    sample_positions: dict[int, tuple[str, int, CaseSamples]] = {}
    for number, group in enumerate(loader.load(runs, changes.previous, changes.slices_of)):
        summaries.append(_write_group(folder, number, group, thumbnails, loader))
        sample_positions |= {
            id(case_samples.case): (group.name, index, case_samples.without_texts())
            for index, case_samples in enumerate(group.cases)
        }
    return summaries, sample_positions


def _write_group(
    folder: Path, number: int, group: SampleGroup, thumbnails: ThumbnailWriter, loader: SampleLoader
) -> dict[str, Any]:
    """Write a sample group with its images and charts."""
    pictures = thumbnails.write_all(group, loader.progress)
    if pictures.broken:
        broken = count_of(pictures.broken, "unreadable image is", "unreadable images are")
        loader.notes.append(f"{group.title}: {broken} left out.")
    loader.progress(f"{group.title}: {len(group.items):,} samples")
    summary = write_sample_group(folder, number, group, pictures)
    write_chunk(
        folder, f"{summary['folder']}/charts", {"protocols": accuracy_rows(group), "confusions": confusion_rows(group)}
    )
    return summary


def _write_index(
    folder: Path,
    runs: Runs,
    options: PageOptions,
    changes: Changes,
    sample_positions: SamplePositions,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Write the data that are not about single items, and return the index."""
    progress("tables")
    tables = write_tables(folder, runs)
    progress("figures")
    figures, notes = write_figures(folder, runs, tables) if options.figures else ([], [])
    write_chunk(folder, "numbers", metric_rows(runs))
    write_chunk(folder, "changes", changes.rows(runs, sample_positions))
    write_chunk(folder, "coverage", curves := coverage_curves(runs))
    rankings = rank_cases(runs, changes.rule.alpha)
    ranks = rank_rows(runs, rankings)
    runs_by_path = [(load([path]), path) for path in options.runs]
    lines = trend(
        [(*loaded.sessions[0], [e for group in loaded.groups for e in group.cases]) for loaded, _ in runs_by_path]
    )
    write_chunk(folder, "trends", lines)
    return {
        "schema": SCHEMA,
        "runs": run_rows(runs.sessions),
        "verdict": summarise_verdict(runs, changes, rankings),
        "glossary": glossary_entries(case.record for case in runs.cases),
        "since": changes.summary() if changes.has_content else None,
        "cases": [
            row | ranks.get(id(entry), {}) | changes.case_summary(entry, sample_positions)
            for entry, row in case_rows(runs, sample_positions)
        ],
        "tables": tables,
        "figures": figures,
        "curves": bool(curves),
        "notes": notes,
    }


def glossary_entries(records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """Return the sentences of the legend: those about all that some records name, by kind and name.

    Unknown names are left out.
    """
    entries: dict[str, dict[str, str]] = {kind: {} for kind in GLOSSARY}
    for record in records:
        entries["protocols"][record.protocol] = recorded_protocol(record.protocol).summary
        for metric in record.metrics:
            entries["metrics"][metric.name] = describe_metric(metric.name)
            entries["labels"][metric.labels] = describe_label_set(metric.labels)
            entries["subsets"][metric.subset_text] = describe_subset(metric)
            entries["intervals"][metric.ci_method] = INTERVALS.get(metric.ci_method, "")
    return {kind: {name: text for name, text in sorted(words.items()) if text} for kind, words in entries.items()}
