"""Select cases of RealBirdID that are comparable: one protocol on the same observations."""

from collections.abc import Sequence

from eyechart.errors import ReportError
from eyechart.spec import did_you_mean

from ..oodbench.cases import nothing_to_show
from ..pages import disambiguate_titles
from ..render import NumberCell
from ..runs import CaseRun, ComparableCases, Runs

ALL, ELIGIBLE, RANGE = "all species", "eligible", "range"  # label sets of metrics
WORDS = "observations"  # label set of protocols with text responses
SPECIES, FLAT, FREE, ABSTENTION = "species", "flat_list", "free_form", "abstention"
DESCRIPTIONS = {
    SPECIES: "asks models for a probability of every species",
    FLAT: "offers species and genera in one list",
    FREE: "asks models for a species in free text",
    ABSTENTION: "asks models under many prompts whether they abstain",
}
CAPTION_OPTIONS = ("prompt", "templates", "prompt_set", "species_names", "extraction", "abstention_images")


def find_cases(pool: Runs, protocol: str, name: str) -> list[ComparableCases]:
    """Return the groups of comparable cases of a protocol, sorted by model; raises ReportError if there are none."""
    cases: dict[tuple[int, tuple[tuple[str, str], ...]], list[CaseRun]] = {}
    for place, group in enumerate(pool.groups):
        for entry in group.with_protocols(protocol).cases:
            cases.setdefault((place, tuple(sorted(entry.record.data.labels.items()))), []).append(entry)
    if not cases:
        raise nothing_to_show(
            pool, name, f"needs {protocol}, which {DESCRIPTIONS[protocol]}", f'pytest -k "realbirdid and {protocol}"'
        )
    return [pool.groups[place].select(sorted(of, key=sort_key)) for (place, _), of in cases.items()]


def sort_key(entry: CaseRun) -> tuple[str, str]:
    """Return the sort key: model, then prompt settings."""
    return entry.model, entry.prompt_settings


def case_names(entries: Sequence[CaseRun]) -> list[str]:
    """Return the model names, with the options in which cases of one model differ."""
    return disambiguate_titles([entry.model for entry in entries], [[entry] for entry in entries])


def metric_estimate(entry: CaseRun, name: str, labels: str, subset: str) -> NumberCell:
    """Return one metric of a case, without a value if the record lacks it."""
    metric = entry.metric(name, labels, subset)
    return NumberCell(None) if metric is None else NumberCell(metric.value, metric.n, metric.ci)


def choose_labels(groups: Sequence[ComparableCases], labels: str | None, default: str = ALL) -> str:
    """Return the requested label set, by default `default`; raises ReportError if no metric has it."""
    known = dict.fromkeys(m.labels for group in groups for entry in group.cases for m in entry.record.metrics)
    if labels is not None and labels not in known:
        raise ReportError(
            f"No number is under '{labels}'{did_you_mean(labels, [*known])} There are: {', '.join(known)}."
        )
    return labels or default


def describe_prompts(entries: Sequence[CaseRun]) -> str:
    """Return the prompt settings of cases: `templates bird (0123abcd); prompt species (89abcdef)`."""
    values_by_option = {name: [*dict.fromkeys(entry.option(name) for entry in entries)] for name in CAPTION_OPTIONS}
    shown = {name: [value for value in values if value not in ("", "own")] for name, values in values_by_option.items()}
    return "; ".join(f"{name} {', '.join(values)}" for name, values in shown.items() if values)
