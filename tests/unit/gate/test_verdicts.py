"""The one word that gate, `compare` and page have for a number: regression, inconclusive and so on."""

from typing import Any

import pytest

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.verdicts.decide import ALPHA, VERDICTS, Rule, decide
from eyechart.plugins.options import OPTIONS
from eyechart.results.evidence import MetricEvidence

NAN = float("nan")


def compared(p: float, delta: float, name: str = "acc1") -> MetricComparison:
    """A number that moved by so much."""
    proof = MetricEvidence(
        name=name, labels="ImGT", subset="all", value=0.5, n=100, direction=-1 if name == "ece" else 1
    )
    sizes: dict[str, Any] = {"before": 0.5, "after": 0.5 + delta, "delta": delta, "n": 100, "n_clusters": 100}
    return MetricComparison("imagenet/val/x", "zero_shot", "x", proof, **sizes, ci=None, p=p, method="exact McNemar")


@pytest.mark.parametrize(
    ("p", "delta", "name", "drop", "word"),
    [
        (1e-9, -0.1, "acc1", 0, "regression"),
        (1e-9, 0.1, "ece", 0, "regression"),
        (1e-9, -0.1, "acc1", 0.1, "tolerated"),
        (1e-9, 0.1, "acc1", 0, "improvement"),
        (1e-9, -0.1, "ece", 0, "improvement"),
        (ALPHA, -0.1, "acc1", 0, "inconclusive"),
        (0.9, 0.1, "acc1", 0, "inconclusive"),
        (1, 0, "acc1", 0, "inconclusive"),
        (1e-9, 3e-8, "ece", 0, "inconclusive"),  # of every image alike, by another number of threads
        (1e-9, -3e-8, "ece", 0, "inconclusive"),
        (NAN, -0.5, "acc1", 0, "not tested"),
    ],
)
def test_every_number_has_its_word(p: float, delta: float, name: str, drop: float, word: str) -> None:
    (verdict,) = decide([compared(p, delta, name)], Rule(max_drop=drop))
    assert verdict.decision == word
    assert word in VERDICTS


def test_the_word_is_of_p_after_the_correction() -> None:
    words = {each.decision for each in decide([compared(0.006, -0.1)] * 2)}
    assert words == {"inconclusive"}


def test_what_the_gate_takes_for_sure_is_what_reports_do() -> None:
    (default,) = (option.default for option in OPTIONS if option.name == "alpha")
    assert float(default) == ALPHA


@pytest.mark.parametrize(("gates", "fails"), [(("accuracy",), False), (("accuracy", "score"), True)])
def test_calibration_fails_a_case_only_as_a_score(gates: tuple[str, ...], fails: bool) -> None:
    """A model near chance that is unsure has a low calibration error, so that a better model can have a higher one."""
    right, unsure = decide([compared(1e-9, 0.1), compared(1e-9, 0.1, "ece")], Rule(gates=gates))
    assert (right.decision, unsure.decision) == ("improvement", "regression")
    assert unsure.regression is fails
