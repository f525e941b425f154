"""What the gate says: of a loss, all that is needed to look into it; of everything else, a line."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from eyechart.evidence import Evidence
from eyechart.gating import Compared, Verdict, telling
from eyechart.metrics.significance import detectable

ACCEPT = "If it is meant to be so, accept it with --eye-update-baseline."


def loss(verdict: Verdict, of_case: Sequence[Compared], keys: Sequence[str], baseline: Path, run: Path) -> str:
    """A regression: the number before and now, how sure it is, and the samples to look at."""
    found = verdict.found
    bounds = "" if found.ci is None else f" [{found.ci.low:+.4f}, {found.ci.high:+.4f}]"
    lines = [
        f"{found.case} ({found.protocol}): {found.name} is worse than the baseline.",
        f"  {found.before:.4f} in the baseline, {found.after:.4f} now: {found.delta:+.4f}{bounds}, n={found.n}",
        f"  {found.method}, p={found.p:.2g}, {verdict.adjusted:.2g} after Holm's correction over the session",
    ]
    if found.lost or found.gained:
        lines.append(f"  right before and wrong now: {len(found.lost)}; wrong before and right now: {found.gained}")
        lines += [f"    {keys[row]}" for row in telling(found, of_case)]
    return "\n".join([*lines, f"  baseline: {baseline}", f"  run: {run}", f"  {ACCEPT}"])


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


def accepted(path: Path) -> str:
    """A file that was written."""
    return f"baseline written: {path} ({path.stat().st_size:,} bytes). Commit it."


def line_of(now: Evidence, what: str) -> str:
    """A remark about a case."""
    return f"{now.case} ({now.protocol}): {what}"


def power_lines(verdicts: Sequence[Verdict], alpha: float) -> Iterator[str]:
    """The smallest loss that each share's comparison would find four times in five, at its place in the session."""
    for verdict in verdicts:
        found = verdict.found
        if found.method != "unpaired" and found.n and (found.lost or found.gained):
            shift = (len(found.lost) + found.gained) / found.n
            least = detectable(found.n, shift, alpha / len(verdicts))
            yield f"{found.case} ({found.protocol}): {found.name} would show a loss of {100 * least:.2f} points"
