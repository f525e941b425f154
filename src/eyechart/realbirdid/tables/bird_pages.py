"""Pages of RealBirdID's tables: the cases of one protocol about the same images, in the published order of models."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from eyechart.errors import ReportError
from eyechart.messages.suggestions import did_you_mean
from eyechart.reports.runs import CaseRun, ComparableCases, Runs, collect_notes
from eyechart.reports.tables.selection import Page, disambiguate_titles
from eyechart.results.records import ANSWERABLE, UNANSWERABLE

PAPER = "arXiv 2603.27033"
ALL, ELIGIBLE, RANGE = "all species", "eligible", "range"  # label sets of metrics
OBSERVATIONS = "observations"  # label set of protocols with text responses
SPECIES, FLAT, FREE, ABSTENTION = "species", "flat_list", "free_form", "abstention"
ENCODERS, LANGUAGE_MODELS, REPLAYED = "Encoder-Based", "Multimodal LLMs", "Replayed"
FAMILIES = (ENCODERS, LANGUAGE_MODELS, REPLAYED)  # the published order
SYMBOLS = {ANSWERABLE: "A", UNANSWERABLE: "UA"}  # the paper's
LEVELS = {
    "A Species": (ANSWERABLE, "species"),
    "A Genus": (ANSWERABLE, "genus"),
    "UA Genus": (UNANSWERABLE, "genus"),
}  # published columns
NUMBER = ("metric", "subset", "level")  # what names a number under a label set
NEEDS = {
    SPECIES: "needs the protocol species, which asks models for a probability of every species",
    FREE: "needs the protocol free_form, which asks models for a species in free text",
    ABSTENTION: "needs the protocol abstention, which asks models under many prompts whether they abstain",
}
NEEDS_LISTS = (
    f"{NEEDS[SPECIES]}, with numbers under '{RANGE}', which observations with latitude and longitude and candidates "
    "(or a table of ranges) have"
)
COMMANDS = {protocol: f'pytest -k "realbirdid and {protocol}"' for protocol in NEEDS}
SETS = "A: answerable images; UA: unanswerable ones, of which the genus is known alone."
MEANING = {
    ALL: "All species: every image, every species of the taxonomy.",
    ELIGIBLE: "Eligible: the images with a location and candidates, every species of the taxonomy.",
    RANGE: "Range: the images with a location and candidates, of each image its candidates alone.",
    OBSERVATIONS: "Every image that was asked about, answers in words.",
}
FOLLOWS = ("scale",)  # settings that follow from the encoder
CAPTION_OPTIONS = ("prompt", "templates", "prompt_set", "species_names", "extraction", "abstention_images")


def pages_of(protocol: str, labels: str = "") -> Callable[[Runs, str | None], list[Page]]:
    """Return the selection of pages of a protocol; `labels` is the label set of a table that has only one."""
    if labels:
        return lambda runs, _: select_pages(runs, protocol, None, labels)
    return lambda runs, chosen: select_pages(runs, protocol, chosen)


def select_pages(runs: Runs, protocol: str, labels: str | None, default: str = ALL) -> list[Page]:
    """Return a page for each group of comparable cases of a protocol that have a number under a label set.

    Raises ReportError if no case has a number under `labels`.
    """
    groups = _group_by_observations(runs, protocol)
    known = dict.fromkeys(m.labels for group in groups for case in group.cases for m in case.record.metrics)
    if groups and labels is not None and labels not in known:
        raise ReportError(
            f"No number is under '{labels}'{did_you_mean(labels, [*known])} There are: {', '.join(known)}."
        )
    shown = labels or default

    def has_value(case: CaseRun) -> bool:
        return any(m.labels == shown and m.n and m.value is not None for m in case.record.metrics)

    selected = [[case for case in group.cases if has_value(case)] for group in groups]
    return [create_page(cases, group.title, shown) for group, cases in zip(groups, selected, strict=True) if cases]


def _group_by_observations(runs: Runs, protocol: str) -> list[ComparableCases]:
    """Return the cases of a protocol in groups with the same observations, sorted by family, model and settings."""
    cases: dict[tuple[int, tuple[tuple[str, str], ...]], list[CaseRun]] = {}
    for number, group in enumerate(runs.groups):
        for case in group.with_protocols(protocol).cases:
            cases.setdefault((number, tuple(sorted(case.record.data.labels.items()))), []).append(case)

    def published_order(case: CaseRun) -> tuple[int, str, str]:
        return FAMILIES.index(_model_family(case)), case.model, case.prompt_settings

    return [runs.groups[number].select(sorted(part, key=published_order)) for (number, _), part in cases.items()]


def create_page(cases: Sequence[CaseRun], title: str, labels: str, names: pd.DataFrame | None = None) -> Page:
    """Return the page of some comparable cases, which are by default named by family and model."""
    if names is None:
        models = disambiguate_titles([case.model for case in cases], [[case] for case in cases])
        names = pd.DataFrame({"Family": [*map(_model_family, cases)], "Model": models})
    notes = (*filter(None, [MEANING.get(labels)]), *_describe_cases(cases))
    context = {"split": title, "labels": labels}
    return Page(cases=tuple(cases), title=title, names=names, labels=labels, notes=notes, context=context)


def _model_family(case: CaseRun) -> str:
    """Return the family of a model in the published tables."""
    variant = case.record.variant
    if case.record.protocol in (FREE, ABSTENTION) or "stop" in variant:
        return LANGUAGE_MODELS
    return ENCODERS if "templates" in variant else REPLAYED


def metric_cells(
    page: Page, columns: Mapping[str, tuple[str, ...]], labels: str = "", rows: pd.Series | None = None
) -> pd.DataFrame:
    """Return numbers of a page as cells; `columns` have the metric, its subset and its level for each column.

    `labels` is another label set than that of the page, `rows` (bool) are the cases, all without it.
    """
    fields = [{"column": head, **dict(zip(NUMBER, names, strict=False))} for head, names in columns.items()]
    cases = page.names if rows is None else page.names[rows]
    wanted = pd.DataFrame({"row": cases.index}).merge(pd.DataFrame(fields), how="cross").fillna("")
    return find_metrics(page, wanted, labels)


def find_metrics(page: Page, wanted: pd.DataFrame, labels: str = "") -> pd.DataFrame:
    """Return cells with the numbers that their `row`, `metric`, `subset`, `level` and `prompt` name, NaN without one.

    Names that are not among the columns are "".
    """
    usual = {"labels": labels or page.labels, "subset": "", "level": "", "prompt": ""}
    keys = ["row", "metric", *usual]
    named = wanted.assign(**{name: text for name, text in usual.items() if name not in wanted})
    return named.merge(page.metrics[[*keys, "value", "n", "low", "high"]], how="left", on=keys)


def _describe_cases(cases: Sequence[CaseRun]) -> Iterator[str]:
    """Yield notes about the images and the prompt settings of each family."""
    yield from dict.fromkeys(map(describe_data, cases))
    yield from dict.fromkeys(
        f"{_model_family(case)}: {case.prompt_settings_without(FOLLOWS) or 'no choices'}." for case in cases
    )
    yield from collect_notes(cases)


def describe_data(case: CaseRun) -> str:
    """Return a note about the images and the labels of a case."""
    record = case.record
    limited = "" if record.limit is None else f" (a random sample, seed {record.seed})"
    hashes = "".join(f"; {name} {sha[:12]}" for name, sha in record.data.labels.items())
    split = f"{record.benchmark}/{record.split}: {record.data.n:,} images{limited}"
    return f"{split}, fingerprint {record.data.fingerprint[:12]}{hashes}."


def describe_prompts(cases: Sequence[CaseRun]) -> str:
    """Return the prompt settings of cases: `templates bird (0123abcd); prompt species (89abcdef)`."""
    values_by_option = {name: [*dict.fromkeys(case.option(name) for case in cases)] for name in CAPTION_OPTIONS}
    shown = {name: [value for value in values if value not in ("", "own")] for name, values in values_by_option.items()}
    return "; ".join(f"{name} {', '.join(values)}" for name, values in shown.items() if values)
