"""Overlap of a division with the training data of models: Section B.1 of arXiv 2602.18094."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.errors import DataError, ReportError
from eyechart.metrics.intervals import Interval, clopper_pearson
from eyechart.metrics.population import population_share, upper_limit_below
from eyechart.oodbench.division import OOD_H, OOD_S
from eyechart.oodbench.division_files import PairEntry, read_file
from eyechart.oodbench.semantic_overlap import semantic_overlap
from eyechart.oodbench.training_corpus import Corpus, read_corpus, read_synonyms, stem

from ..answers import proportion_of_counts
from ..render import NumberCell, Row, Table
from ..runs import Runs
from .cases import nothing_to_show

COMMAND = "python -m eyechart.reports overlap DIVISION.json --corpus MODEL=FILE"
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


@dataclass(frozen=True)
class ModelOverlap:
    """The overlap of `n` pairs of a division with a model's training corpora.

    `hits` is the number of pairs whose category is named in a text of their image; `with_text` is the number of pairs
    whose image has a text. The pair is the sampling unit, because Eq. (2) of the paper counts pairs as trials.
    """

    model: str
    training_corpora: tuple[Corpus, ...]
    hits: int
    with_text: int
    n: int


def raise_nothing_to_show(pool: Runs, _: str | None) -> list[Table]:
    """Raise the error that runs record no training corpora, with the command that makes the tables."""
    what = "compares a division with what models were trained on, of which runs know nothing"
    raise nothing_to_show(pool, "oodbench-population", what, COMMAND)


def overlap_tables(request: OverlapRequest) -> list[Table]:
    """Return the table of models and the table of the population of models."""
    division = read_file(request.division)
    pairs = [pair for pair in division.pairs if pair.present and pair.set in (OOD_S, OOD_H)]
    if not pairs:
        raise ReportError(f"{request.division} has no present pair out of distribution. Name another division.")
    words = read_synonyms(request.synonyms, {pair.category for pair in division.pairs}) if request.synonyms else {}
    learned = [
        compute_overlap(name, files, pairs, words) for name, files in files_by_model(request.corpus_files).items()
    ]
    parameters = ", ".join(f"{name} {value}" for name, value in division.parameters.items())
    pairs_note = (
        f"{division.benchmark}/{division.split}: {len(pairs):,} pairs of OOD-S and OOD-H before downsampling; "
        f"{parameters}."
    )
    notes = (
        pairs_note,
        *(f"{overlap.model}: {corpus_note(corpus)}." for overlap in learned for corpus in overlap.training_corpora),
    )
    return [models_table(learned, request.epsilon, notes), population_table(learned, request.epsilon)]


def files_by_model(corpora: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the corpus files of each model, parsed from MODEL=FILE."""
    by_model: dict[str, list[str]] = {}
    for text in corpora:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            raise ReportError(f"--corpus={text} is not MODEL=FILE. Give a name and a file, such as llava=captions.json")
        by_model.setdefault(name, []).append(file)
    return by_model


def compute_overlap(
    model: str, files: Sequence[str], pairs: Sequence[PairEntry], synonyms: Mapping[str, Sequence[str]]
) -> ModelOverlap:
    """Return the overlap of the pairs with all corpora of a model."""
    keys = [pair.key for pair in pairs]
    read = tuple(read_corpus(file, {*map(stem, keys)}) for file in files)
    texts: dict[str, list[str]] = {}
    for corpus in read:
        for image, image_texts in corpus.texts.items():
            texts.setdefault(image, []).extend(image_texts)
    try:
        overlap = semantic_overlap(keys, [pair.category for pair in pairs], texts, synonyms)
    except DataError as error:
        raise DataError(f"--corpus={model}={files[0]}: {error}") from error
    return ModelOverlap(model, read, overlap.hits, int(overlap.has_text.sum()), len(pairs))


def corpus_note(corpus: Corpus) -> str:
    """Return a note about a corpus: its file, format, hash, and skipped entries."""
    out = "".join(f"; {exclusion}" for exclusion in corpus.excluded)
    return f"{Path(corpus.source).name} ({corpus.format}, sha256 {corpus.sha256[:12]}){out}"


def models_table(learned: Sequence[ModelOverlap], epsilon: Sequence[float], notes: Sequence[str]) -> Table:
    """Return the table with one row per model."""
    heads = [f"Z, ε = {100 * limit:g} %" for limit in epsilon]
    rows: list[Row] = [
        (
            overlap.model,
            proportion_of_counts(overlap.with_text, overlap.n),
            share_number(overlap.hits / overlap.n, clopper_pearson(overlap.hits, overlap.n), overlap.n),
            *(int(upper_limit_below(overlap.hits, overlap.n, limit)) for limit in epsilon),
        )
        for overlap in learned
    ]
    columns = ("Model", "Read (%)", "Overlap (%)", *heads)
    return Table("OODBench: overlap with training", columns, tuple(rows), (*MEANING, *notes), {"table": "models"})


def population_table(learned: Sequence[ModelOverlap], epsilon: Sequence[float]) -> Table:
    """Return the table with one row per threshold ε: the share of models for which the pairs are OOD."""
    rows: list[Row] = []
    for limit in epsilon:
        accepted = sum(upper_limit_below(overlap.hits, overlap.n, limit) for overlap in learned)
        population = population_share(accepted, len(learned))
        both = (share_number(population.share, ends, len(learned)) for ends in (population.exact, population.posterior))
        rows.append((f"{100 * limit:g} %", accepted, *both))
    columns = ("ε", "Models with Z = 1", "Share (%), exact", "Share (%), posterior")
    return Table(
        "OODBench: models to which the pairs are out of distribution",
        columns,
        tuple(rows),
        OF_ALL,
        {"table": "population"},
    )


def share_number(value: float, ci: Interval, n: int) -> NumberCell:
    """Return a share with its interval."""
    return NumberCell(value, n, (ci.low, ci.high))
