"""Evidence of each metric of a case, so that two runs can be compared on the same samples.

The evidence of a proportion is the outcome of each sample; that of any other metric is its bootstrap distribution. All
runs with one seed resample the same samples, so that the difference of two runs has a paired bootstrap distribution.
"""

import zlib
from base64 import b85encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.limits import Limit
from eyechart.errors import ReportError
from eyechart.results.estimates import Estimate, Separation
from eyechart.results.records import Metric, MetricKey
from eyechart.statistics.auroc import auroc
from eyechart.statistics.proper_scores import brier_scores

SCHEMA = 4
RESAMPLES = 1000
STEPS = 32_767  # a bootstrap value is stored as a fraction of the largest deviation from the metric's value, in int16
SCORE_STEP = 2.0**-20  # log scores are stored in multiples of it: off by half of it, half of what counts as no change
PLANES = 3  # bytes of a stored number: they suffice for the least log score, ln 1e-6, and for 16 million ranks
CLOSE = 1e-9  # the largest difference between a stored proportion and one that is computed again
# Base 85 with NumPy: the functions of `base64` loop over words in Python.
BASE85_LENGTH = 5  # so many characters are four bytes
NOT_BASE85 = 255
BASE85_POWERS = 85 ** np.arange(BASE85_LENGTH - 1, -1, -1, dtype=np.uint64)
BASE85_CHARACTERS = np.array([b85encode(bytes([0, 0, 0, value]))[-1] for value in range(85)], np.uint8)
BASE85_VALUES = np.full(128, NOT_BASE85, np.uint8)
BASE85_VALUES[BASE85_CHARACTERS] = np.arange(85)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class MetricEvidence(MetricKey, frozen=True, kw_only=True, omit_defaults=True):
    """A metric and the names of the packed arrays that it was computed from, "" for an array that it does not have.

    `correct` is the bitmap of correct samples and `counted` that of the samples that count. `bootstrap_samples` are
    steps (`RESAMPLES`,) from the value; `STEPS` steps are `scale`. `scores` are the log scores of samples. `ranks` are
    those of samples by a score, and `positive` is the bitmap of those of the positive class: the value is the AUROC.
    `n_clusters` is the number of images of the n samples, 0 where it is n; resampling draws whole images. `direction`
    is 1 where a higher value is better, -1 where a lower one is, and 0 for a metric that the gate does not judge.
    """

    value: float | None
    n: int
    ci: tuple[float, float] | None = None
    counted: str = ""
    correct: str = ""
    bootstrap_samples: str = ""
    scores: str = ""
    ranks: str = ""
    positive: str = ""
    scale: float = 0.0
    n_clusters: int = 0
    direction: int = 0

    @property
    def sampling_units(self) -> int:
        """The number of independent images of this metric."""
        return self.n_clusters or self.n


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of a case's metrics, with everything that must be equal in another run to compare the two.

    `keys` are the samples' names; a file has them once for all cases of the split (`shared_samples`). `arrays` are the
    packed arrays by name. `clusters` names the array of the samples' clusters, such as photographs of one bird, and is
    unset where every sample is its own cluster. `sample_hashes` names the array that identifies the samples, by which
    two cases are compared on those that both have; a baseline has it in a file of its own. `sequential` is
    True if the asking stopped, or could have stopped, because of the answers. `slices` is the name of the file of a run
    with the slices of its samples; a baseline has none. `logits` names the case's logits in the store.
    """

    schema: int = SCHEMA
    case: str
    protocol: str
    model: str
    weights_sha256: str
    fingerprint: str
    label_hashes: Mapping[str, str]
    variant: Mapping[str, str]
    limit: Limit
    seed: int
    samples: int
    keys: tuple[str, ...] = ()
    environment: Mapping[str, str]
    metrics: tuple[MetricEvidence, ...]
    arrays: Mapping[str, str]
    clusters: str | msgspec.UnsetType = msgspec.UNSET
    sample_hashes: str = ""
    sequential: bool | msgspec.UnsetType = msgspec.UNSET
    slices: str | msgspec.UnsetType = msgspec.UNSET
    logits: str | msgspec.UnsetType = msgspec.UNSET

    def cluster_ids(self) -> Ints | None:
        """Return the cluster of each sample (samples,), None where every sample is its own cluster."""
        if self.clusters is msgspec.UNSET:
            return None
        return np.frombuffer(self.read_array(self.clusters, 4 * self.samples), "<i4").astype(np.int64)

    def sample_identities(self) -> NDArray[np.uint64]:
        """Return what identifies each sample (samples,): bits of the hashes of its key and image."""
        return np.frombuffer(self.read_array(self.sample_hashes, 8 * self.samples), "<u8").astype(np.uint64)

    def sample_outcomes(self, metric: MetricEvidence) -> Floats | None:
        """Return for each sample (samples,) 1, 0, or NaN where it does not count; None for a metric without bitmaps."""
        if not metric.correct:
            return None
        counted, correct = (self.read_bits(name) for name in (metric.counted, metric.correct))
        return np.where(counted, correct.astype(np.float64), np.nan)

    def proportion(self, metric: MetricEvidence) -> float | None:
        """Return the proportion of correct samples among those that count; None without bitmaps or samples."""
        outcomes = self.sample_outcomes(metric)
        counted = np.zeros(0) if outcomes is None else outcomes[~np.isnan(outcomes)]
        return float(counted.mean()) if counted.size else None

    def bootstrap_samples(self, metric: MetricEvidence) -> Floats | None:
        """Return the bootstrap values (`RESAMPLES`,), None for a metric that has none."""
        if not metric.bootstrap_samples or metric.value is None:
            return None
        steps = np.frombuffer(self.read_array(metric.bootstrap_samples, 2 * RESAMPLES), "<i2").astype(np.float64)
        return np.where(steps < -STEPS, np.nan, metric.value + steps / STEPS * metric.scale)

    def log_scores(self, metric: MetricEvidence) -> Floats | None:
        """Return the log score of each sample (samples,), NaN where it does not count; None for a metric without them.

        A score is off by at most half of `SCORE_STEP`, 4.8e-7.
        """
        if not metric.scores:
            return None
        scores = _unpack_scores(self.read_array(metric.scores, PLANES * self.samples))
        return np.where(self.read_bits(metric.counted), scores, np.nan)

    def sample_scores(self, metric: MetricEvidence) -> Floats | None:
        """Return the log score of each sample (samples,), the Brier score if less is better; None without scores."""
        scores = self.log_scores(metric)
        return brier_scores(scores) if scores is not None and metric.direction < 0 else scores

    def mean_score(self, metric: MetricEvidence) -> float | None:
        """Return the mean of a metric's scores, of Brier scores if less is better; None without scores or samples."""
        scores = self.sample_scores(metric)
        values = np.zeros(0) if scores is None else scores[~np.isnan(scores)]
        return float(values.mean()) if values.size else None

    def separation(self, metric: MetricEvidence) -> Separation | None:
        """Return the ranks of samples of two classes, as scores; None for a metric without them."""
        if not metric.ranks:
            return None
        ranks = _unpack_planes(self.read_array(metric.ranks, PLANES * self.samples))
        counted, positive = (self.read_bits(name) for name in (metric.counted, metric.positive))
        return Separation(np.where(counted, ranks, np.nan), np.where(counted, positive, np.nan))

    def read_bits(self, name: str) -> NDArray[np.bool_]:
        """Return an array with one bit per sample (samples,)."""
        packed = np.frombuffer(self.read_array(name, (self.samples + 7) // 8), np.uint8)
        return np.unpackbits(packed, count=self.samples).astype(np.bool_)

    def read_array(self, name: str, size: int) -> bytes:
        """Return the bytes of an array. Raises ValueError if it is missing, damaged or of another size."""
        if name not in self.arrays:
            raise ValueError(f"the array {name} is missing")
        return _read_array(self.arrays[name], size, name)

    def check(self) -> None:
        """Raise ValueError if an array cannot be read, or a value contradicts its evidence."""
        clusters = self.cluster_ids()
        if clusters is not None and (clusters < 0).any():
            raise ValueError("the clusters are not all whole numbers of at least 0")
        for metric in self.metrics:
            proportion = self.proportion(metric)
            if proportion is not None and metric.value is not None and abs(proportion - metric.value) > CLOSE:
                raise ValueError(f"{metric.name} is {metric.value}, but its outcomes have the mean {proportion}")
            self.bootstrap_samples(metric)
            mean = self.mean_score(metric)
            if mean is not None and metric.value is not None and abs(mean - metric.value) > SCORE_STEP:
                raise ValueError(f"{metric.name} is {metric.value}, but its scores have the mean {mean}")
            separation = self.separation(metric)
            if separation is not None and metric.value is not None:
                area = auroc(separation.scores, separation.positive)
                if not abs(area - metric.value) <= CLOSE:
                    raise ValueError(f"{metric.name} is {metric.value}, but its ranks have the area {area}")
            if metric.ci and metric.ci[0] > metric.ci[1]:
                raise ValueError(f"the interval of {metric.name} has a lower end above its upper end")


def digest(data: bytes) -> str:
    """Return the name of a packed array, a hash of its content."""
    return sha256(data).hexdigest()[:12]


def pack_array(data: bytes) -> str:
    """Return the bytes of an array as compressed text."""
    return _encode_base85(zlib.compress(data, 9))


def unpack_array(text: str, size: int, name: str = "") -> bytes:
    """Return the bytes of an array from compressed text. Raises ValueError if it is damaged or of another size."""
    try:
        data = zlib.decompressobj().decompress(_decode_base85(text), size + 1)
    except zlib.error as error:
        raise ValueError(f"the array {name} is damaged ({error})") from None
    if len(data) != size:
        raise ValueError(f"the array {name} has another size than {size} bytes")
    return data


@lru_cache(maxsize=32)
def _read_array(text: str, size: int, name: str) -> bytes:
    """Return the bytes of an array with a name; those of a case are read for the check and for each of its metrics.

    Raises ValueError if it is damaged, of another size, or has another digest.
    """
    data = unpack_array(text, size, name)
    if digest(data) != name:
        raise ValueError(f"the array {name} has content with another digest")
    return data


class PackedArrays:
    """Collects packed arrays by name; equal arrays are stored once."""

    def __init__(self, clusters: Ints | None = None) -> None:
        self.clusters = clusters
        self.packed: dict[str, str] = {}
        self.correct_masks: dict[str, NDArray[np.bool_]] = {}

    def add(self, data: bytes) -> str:
        """Add an array and return its name."""
        name = digest(data)
        if name not in self.packed:
            self.packed[name] = pack_array(data)
        return name

    def add_correct(self, counted: NDArray[np.bool_], correct: NDArray[np.bool_]) -> str:
        """Add the bitmap of correct samples; one that is equal where samples count is used again."""
        for name, mask in self.correct_masks.items():
            if np.array_equal(mask[counted], correct[counted]):
                return name
        name = self.add(np.packbits(correct).tobytes())
        self.correct_masks[name] = correct
        return name

    def add_samples(self, correct: Floats | None, scores: Floats | None) -> dict[str, Any]:
        """Add outcomes or log scores of samples, NaN for one that does not count; return their fields of the evidence.

        `value` is the mean of what was added.
        """
        values = correct if correct is not None else scores
        if values is None:
            return {}
        known = ~np.isnan(values)
        fields = self.add_counted(known)
        fields |= {"value": float(values[known].mean()) if fields["n"] else None}
        if correct is not None:
            return fields | {"correct": self.add_correct(known, correct == 1)}
        return fields | {"scores": self.add(_pack_scores(np.where(known, values, 0.0)))}

    def add_separation(self, separation: Separation | None) -> dict[str, Any]:
        """Add the ranks of samples by their scores, and their classes; return their fields of the evidence.

        `value` is the area.
        """
        if separation is None:
            return {}
        known = ~np.isnan(separation.scores) & ~np.isnan(separation.positive)
        _, ranks = np.unique(separation.scores[known], return_inverse=True)
        all_ranks = np.zeros(len(known))
        all_ranks[known] = ranks
        value = auroc(separation.scores, separation.positive)
        return {
            **self.add_counted(known),
            "ranks": self.add(_pack_planes(all_ranks)),
            "positive": self.add(np.packbits(known & (separation.positive == 1)).tobytes()),
            "value": None if np.isnan(value) else value,
        }

    def add_counted(self, known: NDArray[np.bool_]) -> dict[str, Any]:
        """Add the bitmap of the samples that count; return it with their number and that of their images."""
        n = int(known.sum())
        units = n if self.clusters is None else len(np.unique(self.clusters[known]))
        counted = self.add(np.packbits(known).tobytes())
        return {"counted": counted, "n": n, "n_clusters": units if units != n else 0}

    def add_metric(self, estimate: Estimate) -> MetricEvidence:
        """Add the arrays of an estimate and return its evidence."""
        fields = self.add_samples(estimate.correct, estimate.scores) or self.add_separation(estimate.separation)
        fields |= {"value": estimate.value, "n": estimate.n}
        if estimate.n_clusters is not None:
            fields.pop("n_clusters", None)
        if estimate.bootstrap is not None and estimate.value is not None:
            deviations = estimate.bootstrap() - estimate.value
            scale = float(np.nanmax(np.abs(deviations), initial=0.0))
            steps = np.round(deviations / (scale or 1.0) * STEPS)
            packed = self.add(np.where(np.isnan(steps), -STEPS - 1, steps).astype("<i2").tobytes())
            fields |= {"bootstrap_samples": packed, "scale": scale}
        return msgspec.structs.replace(evidence_of_metric(estimate.metric), **fields)


def evidence_of_metric(metric: Metric) -> MetricEvidence:
    """Return the evidence of a value that has no arrays: it can be compared by its interval only."""
    return MetricEvidence(
        *metric.key,
        value=metric.value,
        n=metric.n,
        ci=metric.ci,
        n_clusters=0 if metric.n_clusters == metric.n else metric.n_clusters,
        direction={None: 0, True: 1, False: -1}[metric.higher_is_better],
    )


def collect_evidence(
    estimates: Iterable[Estimate], clusters: Ints | None = None
) -> tuple[tuple[MetricEvidence, ...], Mapping[str, str]]:
    """Return the evidence of estimates and their packed arrays; `clusters` (samples,) is one of these if given."""
    arrays = PackedArrays(clusters)
    metrics = tuple(arrays.add_metric(estimate) for estimate in estimates)
    if clusters is not None:
        arrays.add(pack_clusters(clusters))
    return metrics, arrays.packed


def _pack_scores(scores: Floats) -> bytes:
    """Return log scores (samples,) as multiples of `SCORE_STEP`.

    >>> _unpack_scores(_pack_scores(np.array([0.0, -0.5, -13.8]))).round(6).tolist()
    [0.0, -0.5, -13.8]
    """
    return _pack_planes(np.round(-np.minimum(scores, 0.0) / SCORE_STEP))


def _unpack_scores(data: bytes) -> Floats:
    """Return the log scores (samples,) of `_pack_scores`."""
    return 0.0 - SCORE_STEP * _unpack_planes(data)


def _pack_planes(numbers: Floats) -> bytes:
    """Return whole numbers (samples,) from 0 to 2**24 - 1: all high bytes, then the middle and the low ones.

    Bytes of one significance are compressed better beside each other.

    >>> _unpack_planes(_pack_planes(np.array([0.0, 70_000.0]))).tolist()
    [0.0, 70000.0]
    """
    return numbers.astype(">u4").view(np.uint8).reshape(-1, 4)[:, -PLANES:].T.tobytes()


def _unpack_planes(data: bytes) -> Floats:
    """Return the whole numbers (samples,) of `_pack_planes`."""
    planes = np.frombuffer(data, np.uint8).reshape(PLANES, -1).astype(np.float64)
    return np.asarray(256.0 ** np.arange(PLANES - 1, -1, -1) @ planes)


def pack_clusters(clusters: Ints) -> bytes:
    """Return the clusters of samples as bytes of int32."""
    return clusters.astype("<i4").tobytes()


def read_evidence(path: Path) -> Evidence:
    """Read the evidence file of a case. Raises ReportError if it cannot be read or is damaged."""
    try:
        evidence = msgspec.json.decode(path.read_bytes(), type=Evidence)
        evidence.check()
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise ReportError(f"{path} cannot be read ({error}). Run the case again.") from error
    return evidence


def _encode_base85(data: bytes) -> str:
    """Return what `base64.b85encode` returns, as text.

    >>> _encode_base85(b"example")
    'Wq4t2aBO7'
    """
    padding = -len(data) % 4
    words = np.frombuffer(data + bytes(padding), ">u4").astype(np.uint32)
    digits = np.empty((len(words), BASE85_LENGTH), np.uint8)
    for index in range(BASE85_LENGTH - 1, -1, -1):
        words, digits[:, index] = np.divmod(words, np.uint32(85))
    text = BASE85_CHARACTERS[digits].tobytes().decode("ascii")
    return text[: len(text) - padding]


def _decode_base85(text: str) -> bytes:
    """Return what `base64.b85decode` returns. Raises ValueError where it does.

    >>> _decode_base85("Wq4t2aBO7")
    b'example'
    """
    values = BASE85_VALUES[np.frombuffer(text.encode("ascii"), np.uint8)]
    if values.max(initial=0) == NOT_BASE85:
        raise ValueError("a character is not one of base 85")
    padding = -len(values) % BASE85_LENGTH
    digits = np.full(len(values) + padding, 85 - 1, np.uint8)
    digits[: len(values)] = values
    words = digits.reshape(-1, BASE85_LENGTH) @ BASE85_POWERS
    if words.max(initial=0) >= 2**32:
        raise ValueError("five characters are more than four bytes")
    return words.astype(">u4").tobytes()[: len(words) * 4 - padding]
