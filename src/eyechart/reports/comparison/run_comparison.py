"""`compare`: compare two runs, or two models, metric by metric over the same samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from eyechart.errors import NotComparableError, ReportError, SpecError
from eyechart.gate.baselines.stored_cases import Cases, is_run, read_cases, read_drifts_of, source_names
from eyechart.gate.policy.floors import describe_missed_floor, find_missed_floors, parse_floor, suggest_names
from eyechart.gate.session.compare_cases import CasePair, Drifts, Key, compare_cases
from eyechart.gate.session.gate_status import REGRESSION
from eyechart.gate.verdicts.decide import DEFAULT_RULE, Rule, Verdict
from eyechart.gate.verdicts.verdict_messages import describe_floor, describe_pooled, join_names
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import parse_spec
from eyechart.reports.comparison.verdict_cells import (
    COLUMNS,
    SIDES,
    RunComparison,
    case_label,
    difference_notes,
    one_sided_notes,
    refusal_notes,
    verdict_cells,
)
from eyechart.reports.runs import model_name
from eyechart.reports.tables.render import Cell, Row, Table
from eyechart.results.evidence import Evidence
from eyechart.results.records import Record, read_run
from eyechart.results.run_folder import evidence_folder

T = TypeVar("T")
COUNTS = ("Before n", "After n")
KEY_COLUMNS = ("Case", "Protocol", "Metric", "Labels", "Subset")
NOTES = (
    "Values in %, but for scores such as log_score; brackets: 95 % intervals of the change. n: samples of both sides.",
    "Lost: right before and wrong after; gained: wrong before and right after.",
    "p: two-sided, then adjusted for all primary metrics or for all other metrics.",
)
SLICE_NOTE = "Slices are the samples with one value of a variable, such as class=dog:"
SLICE_RULE = (
    "p: whether the slice changed more than the rest. Adjusted p: false discovery rate over all slices of all cases "
    "(Benjamini and Hochberg); correlated attributes of images are one test."
)


@dataclass(frozen=True)
class MatchedSides:
    """The two sides of a comparison: their names, and their cases by a key that matches them.

    `folders` hold the evidence and the slices of the cases after if they are of a run. `records` are the records of
    such a run. `drifts` are what the accepted versions of the baselines before lost, None if they are none.
    """

    names: tuple[str, str]
    before: Cases
    after: Cases
    folders: Mapping[Key, Path] = field(default_factory=dict)
    records: Sequence[Record] = ()
    drifts: Drifts | None = None


def match_runs(paths: Sequence[Path]) -> MatchedSides:
    """Return two runs or baselines as sides, matched by case."""
    sides, names = [*map(read_cases, paths)], source_names(paths)
    before, after = paths
    folders = _evidence_folders(sides[1], after)
    return MatchedSides((names[0], names[1]), sides[0], sides[1], folders, _read_records(after), read_drifts_of(before))


def match_models(paths: Sequence[Path], specs: Sequence[str]) -> MatchedSides:
    """Return two models, of one run or one run each, as sides, matched by split, options and protocol."""
    before, after = (_cases_of_model(path, spec) for path, spec in zip((paths[0], paths[-1]), specs, strict=True))
    of_model = {evidence.case for evidence in after.values()}
    records = [record for record in _read_records(paths[-1]) if record.case in of_model]
    return MatchedSides((specs[0], specs[1]), before, after, _evidence_folders(after, paths[-1]), records)


def _evidence_folders(cases: Cases, path: Path) -> Mapping[Key, Path]:
    """Return the folder of the evidence of each case of a run; a baseline has none."""
    return dict.fromkeys(cases, evidence_folder(path)) if is_run(path) else {}


def _read_records(path: Path) -> Sequence[Record]:
    """Return the records of a run; a baseline has none."""
    return read_run(path).records if is_run(path) else ()


def _cases_of_model(path: Path, spec: str) -> Cases:
    """Return a model's cases by split, options and protocol."""
    cases = read_cases(path)
    models = dict.fromkeys(evidence.model for evidence in cases.values())
    matches = [model for model in models if spec in (model, model_name(model)) or model == _normalise_spec(spec)]
    if not matches:
        suggestion = did_you_mean(spec, [*models])
        raise ReportError(f"{path} has no model '{spec}'{suggestion} Its models are: {', '.join(models)}.")
    return {
        (case_without_model(evidence), evidence.protocol): evidence
        for evidence in cases.values()
        if evidence.model == matches[0]
    }


def case_without_model(evidence: Evidence) -> str:
    """Return the case without its model: benchmark, split and choices."""
    benchmark, split, variant = evidence.case.split("/", 2)
    return f"{benchmark}/{split}{variant.removeprefix(evidence.model)}"


def _normalise_spec(spec: str) -> str:
    """Return a model specification as records spell it; one that cannot be parsed is returned unchanged."""
    try:
        return str(parse_spec(spec))
    except SpecError:
        return spec


def compare_sides(sides: MatchedSides, rule: Rule) -> RunComparison:
    """Return the verdict of every metric that both sides have.

    Raises NotComparableError if they have no case in common.
    """
    check_common_cases(sides)
    pairs = ((key, CasePair(sides.before.get(key), now, sides.folders.get(key))) for key, now in sides.after.items())
    return RunComparison(compare_cases(pairs, rule, SIDES, sides.drifts))


def comparison_tables(
    sides: MatchedSides, rule: Rule = DEFAULT_RULE, result: RunComparison | None = None
) -> list[Table]:
    """Return the table of every metric that both sides have, and that of the slices that changed if there are any.

    `result` is the comparison of the sides if it is known. Losses and the most significant changes come first. Raises
    NotComparableError if no case can be compared.
    """
    result = result or compare_sides(sides, rule)
    return [_metrics_table(sides, result, rule), *_slices_tables(sides, result)]


def _metrics_table(sides: MatchedSides, result: RunComparison, rule: Rule) -> Table:
    refused = [*refusal_notes(result)]
    if not result.compared:
        raise NotComparableError(
            f"{sides.names[0]} and {sides.names[1]} cannot be compared. {' '.join(refused)} Run both on the same "
            "data, with the same ground truths and options."
        )
    lower_is_better = sorted(
        {verdict.comparison.metric.name for _, verdict in result.verdicts if verdict.comparison.metric.direction < 0}
    )
    exceptions = f", but for {', '.join(lower_is_better)}" if lower_is_better else ""
    better = f"Higher is better{exceptions}; metrics without a direction are left out."
    notes = (
        *NOTES,
        better,
        str(rule),
        f"Before: {sides.names[0]}. After: {sides.names[1]}.",
        *(f"{describe_pooled(verdict, SIDES)}." for verdict in result.models),
        *(f"Adjusted {floor}." for floor in describe_floor([*(item for _, item in result.verdicts), *result.models])),
        *((f"{SLICE_NOTE} {result.describe_slices(rule.alpha)}.",) if result.slice_changes else ()),
        *refused,
        *unmatched_notes(sides),
        *map("Drift: {}.".format, result.session.drifts),
        *policy_notes(sides, result),
    )
    counts_differ = any(verdict.comparison.counts for _, verdict in result.verdicts)
    rows = tuple(_comparison_row(key, verdict, both=counts_differ) for key, verdict in result.verdicts)
    columns = _with_counts(COLUMNS, COUNTS) if counts_differ else COLUMNS
    title = f"{sides.names[0]} and {sides.names[1]}: {result}"
    context = dict(zip(SIDES, sides.names, strict=True))
    return Table(
        title,
        (*KEY_COLUMNS, *columns),
        rows,
        (*notes, *one_sided_notes(result.compared), *difference_notes(result.compared)),
        context,
    )


def _slices_tables(sides: MatchedSides, result: RunComparison) -> Iterator[Table]:
    if result.slices:
        rows = tuple(_comparison_row(key, verdict, both=False) for key, verdict in result.slices)
        context = dict(zip(SIDES, sides.names, strict=True))
        title = f"{sides.names[0]} and {sides.names[1]}: {result.count_slices()}"
        yield Table(title, (*KEY_COLUMNS, *COLUMNS), rows, (SLICE_RULE,), context)


def _comparison_row(key: Key, verdict: Verdict, *, both: bool) -> Row:
    """Return the row of one metric; `both` adds the n of either side."""
    comparison = verdict.comparison
    counts: Sequence[Cell] = comparison.counts or (comparison.n, comparison.n)
    cells = _with_counts(verdict_cells(verdict), counts) if both else verdict_cells(verdict)
    return (*key, *comparison.metric.printed_key, *cells)


def _with_counts(row: Sequence[T], counts: Sequence[T]) -> tuple[T, ...]:
    """Return the cells of a row with two more cells after the shared n."""
    index = COLUMNS.index("n") + 1
    return (*row[:index], *counts, *row[index:])


def check_common_cases(sides: MatchedSides) -> None:
    """Raise NotComparableError if no case is on both sides."""
    if not sides.before.keys() & sides.after.keys():
        labels = [", ".join(map(case_label, sorted(side))) for side in (sides.before, sides.after)]
        raise NotComparableError(
            f"{sides.names[0]} and {sides.names[1]} have no case in common: {labels[0]} on one side, {labels[1]} on "
            f"the other. {_explain_no_common_case(sides)}"
        )


def _explain_no_common_case(sides: MatchedSides) -> str:
    """Return what differs between the cases of both sides, with the remedy: models first, then splits, then prompts."""
    old, new = (
        list(dict.fromkeys(evidence.model for evidence in side.values())) for side in (sides.before, sides.after)
    )
    if not {*old} & {*new}:
        return (
            f"The models have different names: {join_names(old)} and {join_names(new)}. Compare two models with "
            f"--models '{old[0]}' '{new[0]}', or in Python with models=('{old[0]}', '{new[0]}'); or give both "
            "runs one name: --eye-model=NAME=SPEC."
        )
    splits = [{"/".join(case.split("/")[:2]) for case, _ in side} for side in (sides.before, sides.after)]
    if not splits[0] & splits[1]:
        return "Compare runs on the same splits."
    protocols = [{protocol for _, protocol in side} for side in (sides.before, sides.after)]
    return f"Compare runs with the same {'prompts and options' if protocols[0] & protocols[1] else 'protocols'}."


def missing_cases(sides: MatchedSides) -> list[Key]:
    """Return the cases that only the side before has."""
    return [key for key in sorted(sides.before) if key not in sides.after]


def unmatched_notes(sides: MatchedSides) -> Iterator[str]:
    """Yield a sentence for the cases that only one side has."""
    for when, cases, other in ((SIDES[0], sides.before, sides.after), (SIDES[1], sides.after, sides.before)):
        if unmatched := [case_label(key) for key in sorted(cases) if key not in other]:
            yield f"Only {when}, and not compared: {', '.join(unmatched)}."


def _missed_floors(sides: MatchedSides, rule: Rule) -> tuple[list[str], list[str]]:
    """Return the floors of the policy that the run after misses, and those that match no metric of it, as sentences."""
    missed, unknown = [], []
    for floor, record, metric in find_missed_floors(map(parse_floor, rule.policy.floors), sides.records):
        if record is None:
            unknown.append(f"the floor {floor.text} matches no metric{suggest_names(floor, sides.records)}")
        else:
            missed.append(describe_missed_floor(floor, record, metric))
    return missed, unknown


def policy_notes(sides: MatchedSides, result: RunComparison) -> Iterator[str]:
    """Yield the floors of the policy that are missed, and the floors and rules that match nothing."""
    missed, unknown = _missed_floors(sides, result.session.rule)
    yield from missed
    yield from (f"The policy: {text}" for text in unknown)
    yield from (f"The policy: {rule} matches no metric." for rule in result.session.unused_rules())


def gate_status(sides: MatchedSides, result: RunComparison) -> int:
    """Return the exit status of the gate for a comparison, 0 if nothing is wrong."""
    missed, _ = _missed_floors(sides, result.session.rule)
    status = result.session.exit_status(cases_are_missing=bool(missing_cases(sides)))
    return REGRESSION if missed else status
