"""Compare two cases on the samples that both have, such as a run on a subset with the baseline of the whole split.

A sample is known by 48 bits of the hash of its key and 16 bits of that of its image. Two keys of 50,000 have equal bits
with a probability of 5 in a million, a changed image has equal bits with one of 1 in 65,536.
"""

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from zlib import compress, decompress
from zlib import error as zlib_error

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import KEY_BITS
from eyechart.errors import BaselineError
from eyechart.files.atomic import write_atomic
from eyechart.files.text_files import HEAD, describe_content
from eyechart.messages.plurals import count_of
from eyechart.results.estimates import Separation
from eyechart.results.evidence import Evidence, MetricEvidence, PackedArrays, digest, pack_array, pack_clusters
from eyechart.statistics.proper_scores import brier_scores

FOLDER, SUFFIX, KEYS = "samples", ".bin", ".keys"  # the hashes and keys of a split
REMEDY = "Restore it, or write its folder again."


def share_samples(before: Evidence, after: Evidence) -> tuple[Evidence, Evidence, str]:
    """Return two cases on their shared samples, in the order of `after`, and a remark on what was compared.

    Cases are returned as they are, with "", if they have the same samples, no shared sample, another image of one, or
    no hashes of samples. So is a case that has no limit and yet lost samples of the baseline.
    """
    known = before.sample_hashes in before.arrays and after.sample_hashes in after.arrays
    if before.fingerprint == after.fingerprint or not known:
        return before, after, ""
    old, new = before.sample_identities(), after.sample_identities()
    bits = np.uint64(64 - KEY_BITS)
    _, rows_before, rows_after = np.intersect1d(old >> bits, new >> bits, assume_unique=True, return_indices=True)
    order = np.argsort(rows_after)
    rows_before, rows_after = rows_before[order], rows_after[order]
    shared = new[rows_after]
    lost_data = after.limit is None and len(shared) < before.samples
    if lost_data or not len(shared) or not np.array_equal(old[rows_before], shared):
        return before, after, ""
    fingerprint = sha256(shared.tobytes()).hexdigest()
    sides = [_select_samples(side, rows, fingerprint) for side, rows in ((before, rows_before), (after, rows_after))]
    dropped = {metric.key for metric in after.metrics if metric.direction} - {metric.key for metric in sides[1].metrics}
    remark = f"compared on {len(shared):,} shared samples ({before.samples:,} in the baseline, {after.samples:,} now)"
    if dropped:
        remark += f"; {count_of(len(dropped), 'metric')} without an outcome of each sample left out"
    return sides[0], sides[1], remark


def _select_samples(evidence: Evidence, rows: NDArray[np.intp], fingerprint: str) -> Evidence:
    """Return the evidence of some samples: of metrics that have an outcome, a score or a rank of each."""
    clusters = evidence.cluster_ids()
    arrays = PackedArrays(None if clusters is None else clusters[rows])
    selected = (_select_metric(evidence, metric, rows, arrays) for metric in evidence.metrics)
    metrics = tuple(metric for metric in selected if metric is not None)
    if clusters is not None:
        arrays.add(pack_clusters(clusters[rows]))
    return replace(
        evidence,
        fingerprint=fingerprint,
        limit=None,
        samples=len(rows),
        keys=tuple(evidence.keys[row] for row in rows.tolist()) if evidence.keys else (),
        metrics=metrics,
        arrays=arrays.packed,
        clusters=evidence.clusters if clusters is None else digest(pack_clusters(clusters[rows])),
        sample_hashes="",
    )


def _select_metric(
    evidence: Evidence, metric: MetricEvidence, rows: NDArray[np.intp], arrays: PackedArrays
) -> MetricEvidence | None:
    outcomes, scores = evidence.sample_outcomes(metric), evidence.log_scores(metric)
    separation = evidence.separation(metric)
    if separation is not None:
        part = Separation(separation.scores[rows], separation.positive[rows])
        return replace(metric, ci=None, **arrays.add_separation(part))
    if outcomes is None and scores is None:
        return None
    parts = (None if values is None else values[rows] for values in (outcomes, scores))
    selected = arrays.add_samples(*parts)
    if outcomes is None and scores is not None and metric.direction < 0:
        selected["value"] = float(np.nanmean(brier_scores(scores[rows]))) if selected["n"] else None
    return replace(metric, ci=None, **selected)


def write_samples(evidence: Evidence, folder: Path) -> Evidence:
    """Write keys and hashes of a case's samples once for all cases of the split, and return the case without them."""
    name = evidence.sample_hashes
    if name not in evidence.arrays:
        return evidence
    _write_once(folder / FOLDER / f"{name}{SUFFIX}", lambda: evidence.sample_identities().astype("<u8").tobytes())
    if evidence.keys:
        _write_once(folder / FOLDER / f"{name}{KEYS}", lambda: compress(msgspec.json.encode(evidence.keys)))
    return replace(evidence, keys=(), arrays={key: value for key, value in evidence.arrays.items() if key != name})


def _write_once(path: Path, make_content: Callable[[], bytes]) -> None:
    """Write a file whose name determines its content, which is made unless the file is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        write_atomic(path, make_content())


def with_samples(evidence: Evidence, folder: Path) -> Evidence:
    """Return a case of a run or baseline with the keys and hashes of its samples, as far as the folder has them.

    Raises BaselineError if a file is damaged.
    """
    name = evidence.sample_hashes
    path = folder / FOLDER / f"{name}{SUFFIX}"
    if not name or name in evidence.arrays or not path.is_file():
        return evidence
    arrays = {**evidence.arrays, name: pack_array(path.read_bytes())}
    whole = replace(evidence, arrays=arrays, keys=read_keys(path.with_suffix(KEYS), evidence.samples))
    try:
        whole.sample_identities()
    except ValueError as error:
        _refuse_replaced(path)
        raise BaselineError(f"{path} is damaged: {error}. {REMEDY}") from error
    return whole


def _refuse_replaced(path: Path) -> None:
    """Raise BaselineError if another file is there, such as a pointer of Git LFS."""
    if why := describe_content(path.read_bytes()[:HEAD]):
        raise BaselineError(f"{path} {why}.")


@lru_cache(maxsize=4)
def read_keys(path: Path, samples: int) -> tuple[str, ...]:
    """Return the keys of a split's samples, () without a file. Raises BaselineError if it is damaged."""
    if not path.is_file():
        return ()
    try:
        keys = msgspec.json.decode(decompress(path.read_bytes()), type=tuple[str, ...])
    except (zlib_error, msgspec.DecodeError) as error:
        _refuse_replaced(path)
        raise BaselineError(f"{path} is damaged: {error}. {REMEDY}") from error
    if len(keys) != samples:
        raise BaselineError(f"{path} has {len(keys)} keys, expected {samples}. {REMEDY}")
    return keys
