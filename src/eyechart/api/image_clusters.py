"""Groups of similar images that lost or gained between two runs: clusters of image features, named by nearest words.

The clusters depend on the images alone, not on the answers, so that the tests of their losses are valid. The store
keeps the features.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
from scipy.cluster.vq import kmeans2

from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.data.labels.class_names import load_class_names, load_templates
from eyechart.errors import ReportError
from eyechart.evaluation.session import Session
from eyechart.evaluation.settings import Settings
from eyechart.gate.baselines.baseline_files import case_key
from eyechart.gate.baselines.stored_cases import is_run
from eyechart.gate.session.compare_cases import CasePair, compare_case
from eyechart.gate.slices.slice_tests import SliceChanges, compare_variable, decide_slices, shared_rows
from eyechart.gate.verdicts.decide import IMPROVEMENT, REGRESSION, Rule
from eyechart.inference.requests.class_weights import cosine_similarity
from eyechart.inference.requests.row_requests import ClassWeights, Encode
from eyechart.inference.runner.runner import Runner
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Encoder
from eyechart.reports.comparison.run_comparison import check_common_cases, match_runs
from eyechart.reports.comparison.verdict_cells import COLUMNS, case_label, verdict_cells
from eyechart.reports.tables.render import Table
from eyechart.results.evidence import Evidence, Floats, Ints
from eyechart.results.records import Record, read_run

CLUSTER, WORDS_OF_NAME = "cluster", 2
NOTES = (
    "A cluster is a group of images with similar features, named by the words nearest to what sets it apart.",
    "Adjusted p: false discovery rate over all clusters of all cases (Benjamini and Hochberg).",
)


@dataclass(frozen=True)
class ClusterOptions:
    """The encoder of images and words, the number of clusters, the words, and where the images and features are."""

    encoder: ModelSpec
    count: int
    store: Path
    words: Sequence[str] = ()
    data: str | None = None
    offline: bool = False
    rule: Rule = field(default_factory=Rule)


def compare_clusters(before: Path, after: Path, options: ClusterOptions) -> Table:
    """Return a table of the clusters of all cases with a primary proportion that both runs have, losses first."""
    if not is_run(after):
        raise ReportError(f"{after} is no run. Name a run's folder, since a baseline does not know its images.")
    sides = match_runs([before, after])
    check_common_cases(sides)
    records = {case_key(record): record for record in read_run(after).records}
    clusters = ImageClusters(options)
    slices = [
        part
        for key, new in sorted(sides.after.items())
        if (old := sides.before.get(key))
        for part in _compare_clusters_of_case(old, new, clusters.of_record(records[case_key(new)]))
    ]
    if not slices:
        raise ReportError(f"{before} and {after} have no case with a primary proportion on the same images.")
    verdicts = sorted(
        decide_slices(slices, options.rule, every=True), key=lambda verdict: (verdict.adjusted, verdict.comparison.p)
    )
    lost, gained = (sum(verdict.decision == kind for verdict in verdicts) for kind in (REGRESSION, IMPROVEMENT))
    rows = tuple(
        (case_label((part.case, part.protocol)), part.metric.subset.partition("=")[2], *verdict_cells(verdict))
        for verdict in verdicts
        for part in (verdict.comparison,)
    )
    title = f"Clusters of images: {lost} of {len(verdicts)} lost, {gained} gained"
    return Table(title, ("Case", "Cluster", *COLUMNS), rows, (*NOTES, str(options.encoder)))


def _compare_clusters_of_case(before: Evidence, after: Evidence, variable: SliceVariable) -> Iterator[SliceChanges]:
    """Yield the changes of the clusters of a case's images."""
    old, new, _ = CasePair(before, after).share_samples()
    numbers = compare_case(CasePair(old, new)).numbers
    yield from compare_variable(old, new, numbers, variable.select(shared_rows(after, new))) if numbers else ()


class ImageClusters:
    """The clusters of splits, computed once for all cases on the same images."""

    def __init__(self, options: ClusterOptions) -> None:
        self.options = options
        self.known: dict[str, SliceVariable] = {}

    def of_record(self, record: Record) -> SliceVariable:
        """Return the cluster of each image of a record. Raises ReportError if the images are others now."""
        if record.data.fingerprint not in self.known:
            self.known[record.data.fingerprint] = self.compute(record)
        return self.known[record.data.fingerprint]

    def compute(self, record: Record) -> SliceVariable:
        """Return the clusters of a record's images; an image that cannot be encoded has none."""
        options = self.options
        data = record.data.root or None if options.data is None else options.data
        settings = Settings(
            data=data, store=options.store, limit=record.limit, seed=record.seed, offline=options.offline
        )
        with Session(settings) as session:
            dataset = session.open_split(record.benchmark, record.split)
            if dataset.fingerprint != record.data.fingerprint:
                raise ReportError(
                    f"The images of {record.benchmark}/{record.split} are not those of the run. Name their folder with "
                    "--data."
                )
            runner = Runner(session.store, record.limit, record.seed, lambda *_: None)
            encoder = cast("Encoder", session.models[options.encoder])
            features = runner.run(Encode(), encoder, dataset)
            words = tuple(options.words or _default_words(dataset))
            weights = runner.run(ClassWeights(words, load_templates(encoder.templates).formats), encoder)
        usable = [row for row in range(len(dataset)) if row not in features.errors]
        codes = np.full(len(dataset), -1)
        codes[usable], names = cluster_images(
            features.values[usable].astype(np.float64), weights.astype(np.float64), words, options.count, record.seed
        )
        return SliceVariable(CLUSTER, tuple(names), codes.astype(np.int64)).used()


def _default_words(dataset: Dataset) -> Iterable[str]:
    """Return the words that name clusters: the class names of the split, or those of ImageNet."""
    return dict.fromkeys(dataset.names or load_class_names("mill").names)


def cluster_images(
    features: Floats, words: Floats, names: Sequence[str], count: int, seed: int
) -> tuple[Ints, list[str]]:
    """Return the cluster of each image (n,) by k-means of its direction, and the names of the clusters.

    `features` (n, d) belong to images, `words` (w, d) to the names (w).
    """
    directions = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    count = min(count, len(directions))
    centers, codes = kmeans2(directions, count, minit="++", rng=np.random.default_rng(seed), missing="warn")
    offsets = (centers - directions.mean(axis=0)).astype(np.float32)
    similarity = cosine_similarity(offsets, words.astype(np.float32))
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :WORDS_OF_NAME].tolist()
    return codes.astype(np.int64), distinct_names([" / ".join(names[word] for word in best) for best in nearest])


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names; later equal ones have a number.

    >>> distinct_names(["cat", "dog", "cat"])
    ['cat', 'dog', 'cat (2)']
    """
    counts: dict[str, int] = {}
    numbered = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        numbered.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return numbered
