"""Overlap of a division with the training data of models: Section B.1 of arXiv 2602.18094."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from eyechart.errors import DataError, ReportError, SpecError
from eyechart.oodbench.data.training_corpus import Corpus, read_corpus, read_synonyms, stem
from eyechart.oodbench.division.division_files import PairEntry, read_file
from eyechart.oodbench.division.pairs import OOD_H, OOD_S
from eyechart.oodbench.division.semantic_overlap import Overlap, semantic_overlap
from eyechart.oodbench.statistics.finite_population import population_share, upper_limit_below
from eyechart.oodbench.tables.pair_pages import PAPER
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import Table
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import with_wilson
from eyechart.statistics.intervals import clopper_pearson

READ, OVERLAPPING, LIMIT = "Read (%)", "Overlap (%)", "Z, ε = "
ACCEPTED, SHARES = "Models with Z = 1", ("Share (%), exact", "Share (%), posterior")
MEANING = (
    "Read: pairs whose image the corpus has a text of; brackets: 95 % intervals, Wilson, of pairs.",
    "Overlap: pairs whose category is named in one, r = H / C; brackets: 95 % intervals, Clopper and Pearson, pairs.",
    "Z: whether the interval's upper end is below ε, so that the pairs are out of distribution for the model.",
)
OF_ALL = (
    "Share with Z = 1, of all models that these were drawn from. Brackets: 95 % intervals; exact: Clopper and Pearson.",
    "Posterior: from the prior Beta(1, 1). Models share data and makers, so that both intervals are too narrow.",
)


@dataclass(frozen=True)
class OverlapRequest:
    """The arguments of a comparison: division file, training corpora as MODEL=FILE, and thresholds."""

    division: Path
    corpus_files: tuple[str, ...]
    epsilon: tuple[float, ...]
    synonyms: Path | None = None


def parse_shares(text: str) -> tuple[float, ...]:
    """Return the shares of a list separated by commas. Raises SpecError for a share that is none."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = (0.0,)
    if not all(0 < share <= 1 for share in values):
        raise SpecError(f"'{text}' must be shares above 0 and at most 1, such as 0.05,0.02")
    return values


def overlap_tables(request: OverlapRequest) -> list[Table]:
    """Return the table of models and the table of the population of models."""
    models = _overlap_page(request)
    accepted = models.names[_limit_columns(models)]
    names = pd.DataFrame({"ε": [name.removeprefix(LIMIT) for name in accepted], "accepted": [*accepted.sum()]})
    population = Page(cases=(), title="", names=names.assign(models=len(accepted)), context={"table": "population"})
    return [OVERLAP.make(models, _overlap_cells(models)), POPULATION.make(population, _population_cells(population))]


def _overlap_page(request: OverlapRequest) -> Page:
    """Return a page with a row per model: the number of pairs `n`, of those with a text of their image, and of hits.

    A hit is a pair whose category is named in a text of its image. A column for each limit ε says whether the upper end
    of the share's interval is below it. The pair is the sampling unit, because Eq. (2) of the paper counts pairs as
    trials.
    """
    division = read_file(request.division)
    pairs = [pair for pair in division.pairs if pair.present and pair.set in (OOD_S, OOD_H)]
    if not pairs:
        raise ReportError(f"{request.division} has no present pair out of distribution. Name another division.")
    words = read_synonyms(request.synonyms, {pair.category for pair in division.pairs}) if request.synonyms else {}
    rows, corpus_notes = [], []
    for model, files in _files_by_model(request.corpus_files).items():
        corpora = [read_corpus(file, {stem(pair.key) for pair in pairs}) for file in files]
        corpus_notes += [f"{model}: {_corpus_note(corpus)}." for corpus in corpora]
        overlap = _compute_overlap(f"{model}={files[0]}", corpora, pairs, words)
        limits = {
            f"{LIMIT}{100 * limit:g} %": int(upper_limit_below(overlap.hits, len(pairs), limit))
            for limit in request.epsilon
        }
        with_text = int(overlap.has_text.sum())
        rows.append({"Model": model, "n": len(pairs), "with_text": with_text, "hits": overlap.hits, **limits})
    parameters = ", ".join(f"{name} {value}" for name, value in division.parameters.items())
    pairs_note = (
        f"{division.benchmark}/{division.split}: {len(pairs):,} pairs of OOD-S and OOD-H before downsampling; "
        f"{parameters}."
    )
    return Page(
        cases=(), title="", names=pd.DataFrame(rows), notes=(pairs_note, *corpus_notes), context={"table": "models"}
    )  # fmt: skip


def _files_by_model(corpora: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the corpus files of each model, parsed from MODEL=FILE."""
    by_model: dict[str, list[str]] = {}
    for text in corpora:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            raise ReportError(f"--corpus={text} is not MODEL=FILE. Give a name and a file, such as llava=captions.json")
        by_model.setdefault(name, []).append(file)
    return by_model


def _compute_overlap(
    option: str, corpora: Sequence[Corpus], pairs: Sequence[PairEntry], synonyms: Mapping[str, Sequence[str]]
) -> Overlap:
    """Return the overlap of the pairs with all corpora of a model; errors name the value of the option."""
    texts: dict[str, list[str]] = {}
    for corpus in corpora:
        for image, image_texts in corpus.texts.items():
            texts.setdefault(image, []).extend(image_texts)
    try:
        return semantic_overlap([pair.key for pair in pairs], [pair.category for pair in pairs], texts, synonyms)
    except DataError as error:
        raise DataError(f"--corpus={option}: {error}") from error


def _corpus_note(corpus: Corpus) -> str:
    out = "".join(f"; {exclusion}" for exclusion in corpus.excluded)
    return f"{Path(corpus.source).name} ({corpus.format}, sha256 {corpus.sha256[:12]}){out}"


def _limit_columns(page: Page) -> list[str]:
    return [name for name in page.names if name.startswith(LIMIT)]


def _overlap_cells(page: Page) -> pd.DataFrame:
    """Return the share of pairs that a model has read about, the share of hits, and the decision for each limit."""
    counts = page.names.rename_axis("row").reset_index()
    ends = [clopper_pearson(hits, n) for hits, n in counts[["hits", "n"]].itertuples(index=False)]
    low, high = zip(*ends, strict=True)
    read = with_wilson(counts[["row", "n"]].assign(hits=counts["with_text"], column=READ))
    hits = counts[["row", "n"]].assign(value=counts["hits"] / counts["n"], low=low, high=high, column=OVERLAPPING)
    limits = counts[["row", *_limit_columns(page)]].melt("row", var_name="column", value_name="count")
    return pd.concat([read, hits, limits], ignore_index=True)


def _population_cells(page: Page) -> pd.DataFrame:
    """Return for each limit the number of models to which the pairs are out of distribution, and its share."""
    cells: list[dict[str, object]] = []
    for row, accepted, models in page.names[["accepted", "models"]].itertuples():
        share = population_share(accepted, models)
        cells.append({"row": row, "column": ACCEPTED, "count": accepted})
        for column, ends in zip(SHARES, (share.exact, share.posterior), strict=True):
            cells.append(
                {"row": row, "column": column, "value": share.share, "n": models, "low": ends.low, "high": ends.high}
            )
    return pd.DataFrame(cells)


OVERLAP = TableDefinition(
    name="oodbench-population",
    source=PAPER,
    summary="How many pairs of a division models were trained on, and to how many models they are out of distribution.",
    pages=lambda *_: [],
    needs="compares a division with what models were trained on, which runs do not record",
    command="eyechart divide overlap DIVISION.json --corpus MODEL=FILE",
    title="OODBench: overlap with training",
    cells=_overlap_cells,
    rows=("Model",),
    columns=lambda page: (READ, OVERLAPPING, *_limit_columns(page)),
    notes=MEANING,
)
POPULATION = replace(
    OVERLAP,
    title="OODBench: models to which the pairs are out of distribution",
    cells=_population_cells,
    rows=("ε",),
    columns=(ACCEPTED, *SHARES),
    notes=OF_ALL,
)
TABLES = (OVERLAP,)
