"""Annotations of the action: which numbers, how many, and texts that cannot become commands."""

from pathlib import Path
from runpy import run_path
from typing import Any

import msgspec
import pytest

from eyechart.gate.verdicts.decide import CONFIDENCE_REGRESSION, IMPROVEMENT, INCONCLUSIVE, REGRESSION, TOLERATED
from eyechart.gate.verdicts.verdict_file import MetricVerdict, SessionVerdicts

SCRIPT = run_path(str(Path(__file__).parents[3] / "action/annotations.py"))


def verdict(decision: str, **changes: Any) -> MetricVerdict:
    """The verdict on a metric."""
    metric = MetricVerdict(
        case="pets/test/prod", protocol="zero_shot", metric="acc1", labels="original", subset="all", family="primary",
        primary=True, before=0.9, after=0.8, change=-0.1, low=-0.2, high=-0.05, n=100, lost=12, gained=2, p=0.001,
        p_adjusted=0.002, test="mcnemar",
        adjusted_by="joint test", adjusted_numbers=12, draws=10_000,
        loss_limit=0.2, more_samples=None, tier="critical", margin=None, max_drop=0,
        verdict=decision,
    )  # fmt: skip
    return msgspec.structs.replace(metric, **changes)


def session(*metrics: MetricVerdict, **changes: Any) -> SessionVerdicts:
    """The verdicts of a session."""
    verdicts = SessionVerdicts(
        verdict=REGRESSION, sentence="", alpha=0.01, max_drop=0, margin=None, benchmarks=(), models=(), cases=(),
        metrics=metrics, not_compared=(), exit_status=10,
    )  # fmt: skip
    return msgspec.structs.replace(verdicts, **changes)


@pytest.mark.parametrize(
    ("metric", "level"),
    [
        (verdict(REGRESSION), "error"),
        (verdict(CONFIDENCE_REGRESSION), "error"),
        (verdict(REGRESSION, tier="advisory"), "warning"),
        (verdict(CONFIDENCE_REGRESSION, tier="advisory"), "warning"),
        (verdict(TOLERATED), "warning"),
        (verdict(IMPROVEMENT), "notice"),
        (verdict(INCONCLUSIVE), ""),
    ],
)
def test_the_level_says_whether_a_case_fails(metric: MetricVerdict, level: str) -> None:
    lines = [*SCRIPT["annotate"](session(metric))]
    assert [line.partition(" ")[0] for line in lines] == ([f"::{level}"] if level else [])


def test_a_line_has_the_number_before_and_after() -> None:
    (line,) = SCRIPT["annotate"](session(verdict(REGRESSION)))
    change = "90.00 %25 -> 80.00 %25 (n=100, p=0.002; 12 lost, 2 gained)"
    assert line == f"::error title=pets/test/prod (zero_shot)::regression: acc1 (original) {change}"


def test_primary_and_most_significant_numbers_come_first_and_ten_are_shown() -> None:
    metrics = [verdict(REGRESSION, primary=False, metric=f"m{p}", p_adjusted=p / 1000) for p in range(12, 0, -1)]
    lines = [*SCRIPT["annotate"](session(*metrics, verdict(REGRESSION, metric="first", p_adjusted=None)))]
    assert len(lines) == 11
    assert [line.split(": ")[1].partition(" ")[0] for line in lines[:3]] == ["first", "m1", "m2"]
    assert lines[-1] == "3 more numbers of this kind (error) are on the page."


def test_a_name_cannot_become_a_command() -> None:
    metric = verdict(REGRESSION, case="a\n::set-env name=X::y,z", metric="50%\r\n::stop")
    (line,) = SCRIPT["annotate"](session(metric))
    assert line.startswith(
        "::error title=a%0A%3A%3Aset-env name=X%3A%3Ay%2Cz (zero_shot)::regression: 50%25%0D%0A::stop ("
    )


def test_the_verdict_is_an_output_and_empty_if_nothing_was_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    for metrics in ((), (verdict(REGRESSION),)):
        (tmp_path / "verdicts.json").write_bytes(msgspec.json.encode(session(*metrics)))
        SCRIPT["main"](tmp_path / "verdicts.json")
    assert (tmp_path / "output").read_text() == "verdict=\nverdict=regression\n"
