"""The model families of RealBirdID's tables, and the parts that all its tables share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..oodbench.cases import nothing_to_show
from ..render import PERCENT, Cell, NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, ComparableCases, Runs, collect_notes
from .cases import ABSTENTION, ALL, ELIGIBLE, FREE, RANGE, WORDS, case_names, choose_labels, find_cases, metric_estimate

ENCODERS, LANGUAGE_MODELS, REPLAYED = "Encoder-Based", "Multimodal LLMs", "Replayed"
FAMILIES = (ENCODERS, LANGUAGE_MODELS, REPLAYED)  # the published order
FOLLOWS = ("scale",)  # settings that follow from the encoder
SETS = "A: answerable images; UA: unanswerable ones, of which the genus is known alone."
LEGEND = "Bold: the highest; underlined: the next."
MEANING = {
    ALL: "All species: every image, every species of the taxonomy.",
    ELIGIBLE: "Eligible: the images with a location and candidates, every species of the taxonomy.",
    RANGE: "Range: the images with a location and candidates, of each image its candidates alone.",
    WORDS: "Every image that was asked about, answers in words.",
}
LISTED = "which observations with latitude and longitude and candidates (or a table of ranges) have"
REMEDIES = {ELIGIBLE: LISTED, RANGE: LISTED}


@dataclass(frozen=True)
class TableCases:
    """The cases of one table: one protocol, the same images and one label set, in the published order."""

    group: ComparableCases
    labels: str

    @property
    def title(self) -> str:
        """The benchmark, split and limit."""
        return self.group.title

    @cached_property
    def names(self) -> dict[int, str]:
        """The names in the column Model, by id of the case."""
        entries = self.group.cases
        return dict(zip(map(id, entries), case_names(entries), strict=True))

    @property
    def families(self) -> Iterator[tuple[str, list[CaseRun]]]:
        """The model families that have a case."""
        for name in FAMILIES:
            if cases := [entry for entry in self.group.cases if model_family(entry) == name]:
                yield name, cases

    def notes(self, *notes: str) -> tuple[str, ...]:
        """Return the notes of a table: meaning of the metrics, images, and prompt settings."""
        return (*notes, *filter(None, [MEANING.get(self.labels)]), *describe_cases(self.group))

    def table(self, what: str, columns: Sequence[str], rows: Iterable[Row], *notes: str) -> Table:
        """Return a table of these cases."""
        context = {"split": self.title, "labels": self.labels}
        return Table(f"{self.title}: {what}", tuple(columns), tuple(rows), self.notes(*notes), context)

    def sections(
        self, what: str, columns: Sequence[str], cells: Callable[[CaseRun], Sequence[Cell]], *notes: str
    ) -> Table:
        """Return a table with one row per model, grouped by family; in a csv the family is a column."""
        rows_by_family = {name: [(self.names[id(e)], *cells(e)) for e in entries] for name, entries in self.families}
        blank = ("",) * len(columns)
        plain = [(name, *row) for name, rows in rows_by_family.items() for row in rows]
        data = self.table(what, ("Family", "Model", *columns), plain)
        shown = [row for name, rows in rows_by_family.items() for row in ((name, *blank), *rows)]
        return replace(self.table(what, ("Model", *columns), shown, *notes), data=data)


def select_cases(pool: Runs, protocol: str, name: str, labels: str | None, default: str = ALL) -> list[TableCases]:
    """Return the cases of each table that have a metric of the label set; raises ReportError if there are none."""
    groups = find_cases(pool, protocol, name)
    chosen = choose_labels(groups, labels, default)
    kept = [group.select(sorted(with_values(group.cases, chosen), key=publication_order)) for group in groups]
    if not any(group.cases for group in kept):
        whose = "answers about unanswerable birds" if protocol == ABSTENTION else "answers without an error"
        what = f"needs numbers under '{chosen}', {REMEDIES.get(chosen, f'of {whose}')}"
        raise nothing_to_show(pool, name, what, f'pytest -k "realbirdid and {protocol}"')
    return [TableCases(group, chosen) for group in kept if group.cases]


def with_values(entries: Iterable[CaseRun], labels: str) -> list[CaseRun]:
    """Return the cases that have a metric with a value under a label set."""
    return [e for e in entries if any(m.labels == labels and m.n and m.value is not None for m in e.record.metrics)]


def model_family(entry: CaseRun) -> str:
    """Return the family of a model in the published tables."""
    variant = entry.record.variant
    if entry.record.protocol in (FREE, ABSTENTION) or "stop" in variant:
        return LANGUAGE_MODELS
    return ENCODERS if "templates" in variant else REPLAYED


def publication_order(entry: CaseRun) -> tuple[int, str, str]:
    """Return the sort key: family, model, prompt settings."""
    return FAMILIES.index(model_family(entry)), entry.model, entry.prompt_settings


def describe_cases(group: ComparableCases) -> Iterator[str]:
    """Yield notes about the images and the prompt settings of each family."""
    yield from dict.fromkeys(map(describe_data, group.cases))
    yield from dict.fromkeys(
        f"{model_family(e)}: {e.prompt_settings_without(FOLLOWS) or 'no choices'}." for e in group.cases
    )
    yield from collect_notes(group.cases)


def describe_data(entry: CaseRun) -> str:
    """Return a note about the images and the labels of a case."""
    record = entry.record
    limited = "" if record.limit is None else f" (a choice with seed {record.seed})"
    held = "".join(f"; {name} {sha[:12]}" for name, sha in record.data.labels.items())
    where = f"{record.benchmark}/{record.split}: {record.data.n:,} images{limited}"
    return f"{where}, fingerprint {record.data.fingerprint[:12]}{held}."


def styled_metric(entry: CaseRun, name: str, labels: str, subset: str, style: NumberFormat = PERCENT) -> NumberCell:
    """Return one metric of a case in a number format."""
    return replace(metric_estimate(entry, name, labels, subset), style=style)


def mark_best(numbers: Sequence[NumberCell]) -> list[NumberCell]:
    """Return the numbers with the highest marked as best and the next as second, unless there is only one."""
    values = sorted({n.value for n in numbers if n.is_defined and n.value is not None}, reverse=True)
    places = {value: place for place, value in enumerate(values[:2], 1)} if len(values) > 1 else {}
    return [replace(n, highlight=places.get(n.value)) if n.is_defined and n.value is not None else n for n in numbers]
