"""What the gate says where `--eye-baseline` is given and no number is compared: why, and how to change it."""

from collections.abc import Iterable, Sequence

from eyechart.gate.evidence import Evidence

SHOWN = 5
WRITE = "write the baseline with --eye-update-baseline"


def explain_nothing_compared(found: Sequence[Evidence], known: Iterable[Evidence], place: str) -> str:
    """Return why none of the cases that ran was compared, with the baseline's models and the remedy."""
    benchmarks = {benchmark_of(each) for each in found}
    models = list(dict.fromkeys(each.model for each in found))
    near = [each for each in known if benchmark_of(each) in benchmarks]
    names = list(dict.fromkeys(each.model for each in near))
    cases = "the case that ran" if len(found) == 1 else f"the {len(found)} cases that ran"
    start = f"nothing was compared: --eye-baseline={place} has no baseline of {cases} (models: {join_names(models)})."
    if not names:
        return f"{start} It has none of {join_names(sorted(benchmarks))}: {WRITE}, or name another."
    if same := [each for each in near if each.model in models]:
        others = join_names([f"{each.case} ({each.protocol})" for each in same])
        return f"{start} Of these models it has {others}. Run these, or {WRITE}."
    start = f"{start} Its models for {join_names(sorted(benchmarks))}: {join_names(names)}."
    new = next((model for model in models if "[" in model), "SPEC")
    if aliases := [name for name in names if "[" not in name]:
        return f"{start} Give the model the name that the baseline knows: --eye-model={aliases[0]}={new}; or {WRITE}."
    return (
        f"{start} Where these are other checkpoints of one model, give both the same name: {WRITE} and "
        f"--eye-model=NAME={names[0]}, then compare with --eye-model=NAME={new}."
    )


def explain_nothing_recorded(skipped: int) -> str:
    """Return that nothing was compared since no case recorded a number."""
    cases = f"{skipped} case{'s' * (skipped != 1)} skipped"
    return f"nothing was compared with --eye-baseline: no case recorded a number ({cases})."


def explain_no_number(found: Sequence[Evidence]) -> str:
    """Return that the cases have a baseline, of which no number can be compared."""
    cases = join_names([f"{each.case} ({each.protocol})" for each in found])
    return (
        f"nothing was compared with --eye-baseline: {cases} recorded no number of which more or less is better. "
        "Leave --eye-baseline out, or run cases that record one."
    )


def benchmark_of(evidence: Evidence) -> str:
    """Return the name of the case's benchmark."""
    return evidence.case.partition("/")[0]


def join_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    >>> join_names(["a", "b"]), join_names([*"abcdefg"])
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"
