"""What each number of a case is made of, so that two runs can be compared on the same samples.

A share is kept as the outcome of each sample; any other number as its bootstrap draws. These take the same resamples of
the same samples in every run under one seed, so that what two runs differ by is drawn, too.
"""

import zlib
from base64 import b85decode, b85encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.estimates import Estimate

SCHEMA = 1
RESAMPLES = 1000
STEPS = 32_767  # a draw is kept as its place between the value and the draw that is farthest from it
CLOSE = 1e-9  # as near as a share in a file is to one reckoned anew
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class MetricEvidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number and what it was made of: planes, of which `right` is about all samples and `asked` says which count.

    `n_clusters` is the number of images of the n samples; resampling draws whole images. 0 stands for n.
    `better` is 1 where a higher value is better, -1 where a lower one is, and 0 for a number that is not judged.
    """

    name: str
    labels: str
    category: str
    value: float | None
    n: int
    ci: tuple[float, float] | None = None
    counted: str = ""
    correct: str = ""
    bootstrap_samples: str = ""
    scale: float = 0.0
    n_clusters: int = 0
    direction: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells the number from the case's others: its name, its ground truth, its set."""
        return self.name, self.labels, self.category

    @property
    def sampling_units(self) -> int:
        """How many images are independent of one another in this number."""
        return self.n_clusters or self.n


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The proofs of a case's numbers, with all that must be the same for another run's to be compared.

    `keys` are the samples' names; a baseline has none, since the fingerprint says that they are the same. `clusters`
    is the plane that says which samples are of one unit, such as photographs of one bird, where several are.
    """

    schema: int = SCHEMA
    case: str
    protocol: str
    model: str
    weights_sha256: str
    fingerprint: str
    label_hashes: Mapping[str, str]
    variant: Mapping[str, str]
    limit: int | None
    seed: int
    samples: int
    keys: tuple[str, ...] = ()
    environment: Mapping[str, str]
    metrics: tuple[MetricEvidence, ...]
    arrays: Mapping[str, str]
    clusters: str | msgspec.UnsetType = msgspec.UNSET  # not written where there is none

    def cluster_ids(self) -> Ints | None:
        """The cluster of each sample (samples,); None where every sample is a unit of its own."""
        if self.clusters is msgspec.UNSET:
            return None
        return np.frombuffer(self.read_array(self.clusters, 4 * self.samples), "<i4").astype(np.int64)

    def sample_outcomes(self, proof: MetricEvidence) -> Floats | None:
        """The outcome of each sample (samples,), NaN where it does not count; None where they were not kept."""
        if not proof.correct:
            return None
        asked, right = (self.read_bits(name) for name in (proof.counted, proof.correct))
        return np.where(asked, right.astype(np.float64), np.nan)

    def proportion(self, proof: MetricEvidence) -> float | None:
        """The share of the samples that count which are right; None where none are kept, or none count."""
        outcomes = self.sample_outcomes(proof)
        counted = np.zeros(0) if outcomes is None else outcomes[~np.isnan(outcomes)]
        return float(counted.mean()) if counted.size else None

    def bootstrap_samples(self, proof: MetricEvidence) -> Floats | None:
        """The draws (TIMES,); None where they were not kept."""
        if not proof.bootstrap_samples or proof.value is None:
            return None
        steps = np.frombuffer(self.read_array(proof.bootstrap_samples, 2 * RESAMPLES), "<i2").astype(np.float64)
        return np.where(steps < -STEPS, np.nan, proof.value + steps / STEPS * proof.scale)

    def read_bits(self, name: str) -> NDArray[np.bool_]:
        """A plane with a bit for each sample."""
        packed = np.frombuffer(self.read_array(name, (self.samples + 7) // 8), np.uint8)
        return np.unpackbits(packed, count=self.samples).astype(np.bool_)

    def read_array(self, name: str, size: int) -> bytes:
        """A plane of so many bytes; raises ValueError for one that is not there, is cut off or is of another size."""
        opened = zlib.decompressobj()
        try:
            data = opened.decompress(b85decode(self.arrays[name]), size + 1)
        except KeyError:
            raise ValueError(f"the plane {name} is not there") from None
        except zlib.error as error:
            raise ValueError(f"the plane {name} is damaged ({error})") from None
        if len(data) != size:
            raise ValueError(f"the plane {name} has not its {size} bytes")
        if digest(data) != name:
            raise ValueError(f"the plane {name} does not hold what it was named after")
        return data

    def check(self) -> None:
        """Read everything once; raises ValueError for what cannot be."""
        groups = self.cluster_ids()
        if groups is not None and (groups < 0).any():
            raise ValueError("the clusters are no whole numbers of at least 0")
        for proof in self.metrics:
            share = self.proportion(proof)
            if share is not None and proof.value is not None and abs(share - proof.value) > CLOSE:
                raise ValueError(f"{proof.name} is {proof.value}, and its outcomes say {share}")
            self.bootstrap_samples(proof)
            if proof.ci and proof.ci[0] > proof.ci[1]:
                raise ValueError(f"the interval of {proof.name} has its ends the wrong way round")


def digest(data: bytes) -> str:
    """What a plane is called: what it holds, so that one that was damaged is known."""
    return sha256(data).hexdigest()[:12]


class PackedArrays:
    """Collects planes, of which equal ones are kept once."""

    def __init__(self, clusters: Ints | None = None) -> None:
        self.clusters = clusters
        self.packed: dict[str, str] = {}
        self.correct_masks: dict[str, NDArray[np.bool_]] = {}

    def add(self, data: bytes) -> str:
        """Keep a plane and return its name."""
        name = digest(data)
        self.packed.setdefault(name, b85encode(zlib.compress(data, 9)).decode("ascii"))
        return name

    def add_correct(self, told: NDArray[np.bool_], right: NDArray[np.bool_]) -> str:
        """Keep who was right; a part of the samples finds itself in the whole, whose plane it then shares."""
        for name, whole in self.correct_masks.items():
            if np.array_equal(whole[told], right[told]):
                return name
        name = self.add(np.packbits(right).tobytes())
        self.correct_masks[name] = right
        return name

    def add_metric(self, estimate: Estimate) -> MetricEvidence:
        """Keep what a number was computed from."""
        asked, right, drawn, reach, units = "", "", "", 0.0, estimate.n_clusters
        if estimate.correct is not None:
            counted = ~np.isnan(estimate.correct)
            if self.clusters is not None and units is None:
                units = len(np.unique(self.clusters[counted]))
            asked, right = self.add(np.packbits(counted).tobytes()), self.add_correct(counted, estimate.correct == 1)
        if estimate.bootstrap is not None and estimate.value is not None:
            away = estimate.bootstrap() - estimate.value
            reach = float(np.nanmax(np.abs(away), initial=0.0))
            steps = np.round(away / (reach or 1.0) * STEPS)
            drawn = self.add(np.where(np.isnan(steps), -STEPS - 1, steps).astype("<i2").tobytes())
        return MetricEvidence(
            name=estimate.name,
            labels=estimate.labels,
            category=estimate.category,
            value=estimate.value,
            n=estimate.n,
            ci=estimate.interval,
            counted=asked,
            correct=right,
            bootstrap_samples=drawn,
            scale=reach,
            n_clusters=0 if units is None or units == estimate.n else units,
            direction=0 if estimate.higher_is_better is None else 1 if estimate.higher_is_better else -1,
        )


def collect_evidence(
    estimates: Iterable[Estimate], clusters: Ints | None = None
) -> tuple[tuple[MetricEvidence, ...], Mapping[str, str]]:
    """The proofs of numbers, and their planes; `clusters` (samples,) is one of them where several samples share one."""
    planes = PackedArrays(clusters)
    found = tuple(planes.add_metric(estimate) for estimate in estimates)
    if clusters is not None:
        planes.add(pack_clusters(clusters))
    return found, planes.packed


def pack_clusters(clusters: Ints) -> bytes:
    """The plane of the samples' clusters."""
    return clusters.astype("<i4").tobytes()


def read_evidence(path: Path) -> Evidence:
    """Read what a case kept."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Evidence)
        found.check()
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise ReportError(f"{path} cannot be read ({error}). Run the case again.") from error
    return found
