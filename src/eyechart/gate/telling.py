"""What the gate says: of a loss, all that is needed to look into it; of everything else, a line."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path

from scipy.special import ndtri

from eyechart.gate.baselines import Written
from eyechart.gate.comparing import Compared, Verdict, telling
from eyechart.gate.evidence import Evidence
from eyechart.metrics.significance import detectable

ACCEPT = "If it is meant to be so, accept it with --eye-update-baseline."
POWER = 0.8
LEAST = 1e-300  # what is below cannot be told from 0, which no p-value is


def loss(verdict: Verdict, of_case: Sequence[Compared], keys: Sequence[str], baseline: Path, run: Path) -> str:
    """A regression: the number before and now, how sure it is, and the samples to look at."""
    found = verdict.found
    bounds = "" if found.ci is None else f" [{found.ci.low:+.4f}, {found.ci.high:+.4f}]"
    lines = [
        f"{found.case} ({found.protocol}): {found.name} is worse than the baseline.",
        f"  {found.before:.4f} in the baseline, {found.after:.4f} now: {found.delta:+.4f}{bounds}, {size(found)}",
        f"  {found.method}, {chance(found.p)}, {chance(verdict.adjusted)} after Holm's correction over the session",
    ]
    if found.lost or found.gained:
        lines.append(f"  right before and wrong now: {len(found.lost)}; wrong before and right now: {found.gained}")
        lines += [f"    {keys[row]}" for row in telling(found, of_case)]
    return "\n".join([*lines, f"  baseline: {baseline}", f"  run: {run}", f"  {ACCEPT}"])


def size(found: Compared) -> str:
    """How many samples a comparison is of, and of how many images, where these are fewer."""
    return f"n={found.n}" if found.units == found.n else f"n={found.n} of {found.units} images"


def chance(p: float) -> str:
    """A p-value, never as 0.

    >>> chance(0.0123), chance(0.0)
    ('p=0.012', 'p<1e-300')
    """
    return f"p<{LEAST:g}" if p < LEAST else f"p={p:.2g}"


def refused(now: Evidence, path: Path, different: Sequence[str]) -> str:
    """Two cases that are not about the same."""
    listed = "\n".join(f"  {each}" for each in different)
    return (
        f"{now.case} ({now.protocol}) cannot be held against {path}:\n{listed}\n"
        f"  Run on what the baseline was made of, or write it again with --eye-update-baseline."
    )


def vanished(now: Evidence, path: Path, gone: Sequence[str]) -> str:
    """Numbers that are no more."""
    return f"{now.case} ({now.protocol}) has no value now for what {path} has: {', '.join(gone)}. {ACCEPT}"


def no_baseline(now: Evidence) -> str:
    """A case that nothing is known of."""
    return f"{now.case} ({now.protocol}) has no baseline. Write it with --eye-update-baseline."


def accepted(written: Written) -> str:
    """A file that was written."""
    lost = f"; what it held before is lost: {written.lost}" if written.lost else ""
    return f"baseline written: {written.path} ({written.path.stat().st_size:,} bytes){lost}. Commit it."


def line_of(now: Evidence, what: str) -> str:
    """A remark about a case."""
    return f"{now.case} ({now.protocol}): {what}"


def shared(remarks: Mapping[str, Sequence[Evidence]]) -> Iterator[str]:
    """Remarks with the case that they are about; one about several is said once."""
    for what, about in remarks.items():
        yield line_of(about[0], what) if len(about) == 1 else f"{what} ({len(about)} cases)"


def power_lines(verdicts: Sequence[Verdict], alpha: float) -> Iterator[str]:
    """The smallest loss that each comparison would find four times in five, at the hardest place in the session."""
    tests = sum(not isnan(verdict.found.p) for verdict in verdicts)
    for verdict in verdicts:
        found = verdict.found
        least = smallest(found, alpha / max(1, tests))
        what = "would show no loss" if isnan(least) else f"would show a loss of {100 * least:.2f} points"
        yield f"{found.case} ({found.protocol}): {found.name} {what} ({size(found)}, {found.method})"


def smallest(found: Compared, alpha: float) -> float:
    """The smallest loss that one comparison would find, a fraction: of a share exactly, else as if it were normal."""
    if found.method == "exact McNemar":
        return (
            detectable(found.n, (len(found.lost) + found.gained) / found.n, alpha, POWER) if found.n else float("nan")
        )
    if found.ci is None or isnan(found.p):
        return float("nan")
    error = (found.ci.high - found.ci.low) / 2 / float(ndtri(0.975))
    return error * float(ndtri(1 - alpha / 2) + ndtri(POWER))
