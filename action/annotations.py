"""Print an annotation for each number that changed, and write the verdict of the session as an output of the step."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from eyechart.gate.policy.tiers import ADVISORY
from eyechart.gate.verdicts.decide import CONFIDENCE_REGRESSION, IMPROVEMENT, REGRESSION, TOLERATED
from eyechart.gate.verdicts.value_texts import format_values
from eyechart.gate.verdicts.verdict_file import MetricVerdict, SessionVerdicts
from eyechart.gate.verdicts.verdict_messages import format_p_value
from eyechart.results.records import full_name

MOST = 10  # GitHub shows as many of a kind for a step
ERROR, WARNING, NOTICE = LEVELS = "error", "warning", "notice"


def escape(text: str, *, of_property: bool = False) -> str:
    """Return a text as a workflow command takes it: on one line, and in a property without its separators."""
    pairs = [("%", "%25"), ("\r", "%0D"), ("\n", "%0A")] + [(":", "%3A"), (",", "%2C")] * of_property
    for character, code in pairs:
        text = text.replace(character, code)
    return text


def choose_level(metric: MetricVerdict) -> str:
    """Return error for a loss that fails its case, warning for another loss, notice for a gain, else ""."""
    if metric.verdict in (REGRESSION, CONFIDENCE_REGRESSION):
        return WARNING if metric.tier == ADVISORY else ERROR
    return {TOLERATED: WARNING, IMPROVEMENT: NOTICE}.get(metric.verdict, "")


def annotate(verdicts: SessionVerdicts) -> Iterator[str]:
    """Yield the annotations, of each level the most significant ones."""
    pooled = [metric for model in verdicts.models for metric in (model.pooled, model.pooled_score) if metric]
    for level in LEVELS:
        metrics = (*verdicts.metrics, *pooled, *verdicts.slices)
        changed = [metric for metric in metrics if choose_level(metric) == level]
        changed.sort(key=lambda metric: (not metric.primary, metric.p_adjusted is None, metric.p_adjusted or 0))
        for metric in changed[:MOST]:
            title = escape(f"{metric.case} ({metric.protocol})", of_property=True)
            yield f"::{level} title={title}::{escape(describe(metric))}"
        if len(changed) > MOST:
            yield f"{len(changed) - MOST} more numbers of this kind ({level}) are on the page."


def describe(metric: MetricVerdict) -> str:
    """Return the sentence of a number that changed."""
    name = full_name(metric.metric, metric.labels, metric.subset)
    samples = f"; {metric.lost} lost, {metric.gained} gained" if metric.lost or metric.gained else ""
    p_value = "" if metric.p_adjusted is None else f", {format_p_value(metric.p_adjusted)}"
    before, after = format_values(metric.metric, metric.before, metric.after)
    change = f"{before} -> {after} (n={metric.n}{p_value}{samples})"
    return f"{metric.verdict}: {name} {change}"


def main(path: Path) -> None:
    """Print the annotations of a file of verdicts; append the verdict to GITHUB_OUTPUT if something was compared."""
    verdicts = msgspec.json.decode(path.read_bytes(), type=SessionVerdicts)
    for line in annotate(verdicts):
        print(line)
    compared = verdicts.verdict if verdicts.metrics else ""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"verdict={compared}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
