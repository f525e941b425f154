"""How often each verdict is right and wrong in simulated sessions, with 1 and 5 % of the images changed and few images.

A false regression, improvement or "no regression" comes up in at most alpha of the sessions, for independent images,
for photographs of one observation, for cases that share images, and for a rare class. Each verdict is found with the
power that the gate states.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binomtest

from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.comparison.pooled import pool_models
from eyechart.gate.verdicts.decide import Rule, decide, session_verdict
from eyechart.statistics.noninferiority import samples_for_margin
from eyechart.statistics.significance import minimum_detectable_loss

pytestmark = pytest.mark.deep
ALPHA, MARGIN, SESSIONS = 0.05, 0.03, 150
RULE = Rule(ALPHA, margin=MARGIN)
SURE = 0.001  # a correct test fails in so many of 1,000 choices of the seed


@dataclass(frozen=True)
class Setting:
    """n images in observations of `size` photographs, of which a share changes; the true loss is a fraction.

    `cases` are protocols on the same images; a case follows the first one's change in `shared` of the images. `rare` is
    the number of images that count, 0 for all.
    """

    n: int
    changed: float
    loss: float = 0.0
    size: int = 1
    cases: int = 1
    shared: float = 0.8
    rare: int = 0

    def draw(self, chance: np.random.Generator) -> Any:
        """Return outcomes before and after (cases, n): NaN for images that do not count."""
        units = self.n // self.size
        shares = [(self.changed + self.loss) / 2, (self.changed - self.loss) / 2]
        steps = chance.choice([-1, 1, 0], (self.cases, units), p=[*shares, 1 - self.changed])
        steps = np.where(chance.random((self.cases, units)) < self.shared, steps[0], steps).repeat(self.size, axis=1)
        right = chance.random(steps.shape) < 0.7
        before = np.where(steps == 0, right, steps < 0).astype(float)
        after = np.where(steps == 0, right, steps > 0).astype(float)
        if self.rare:
            before[:, self.rare :] = after[:, self.rare :] = np.nan
        return before, after


INDEPENDENT = [Setting(200, 0.05), Setting(1000, 0.01), Setting(12, 0.5)]
CLUSTERED = [Setting(600, 0.05, size=3), Setting(24, 0.3, size=3)]
CORRELATED = [Setting(200, 0.05, cases=3), Setting(24, 0.3, cases=3)]
RARE = [Setting(600, 0.05, rare=12, cases=2)]
EVERY = [*INDEPENDENT, *CLUSTERED, *CORRELATED, *RARE]


@pytest.fixture
def count(make: Any, share: Any) -> Any:
    """Count the verdicts of cases, of models and of sessions over simulated sessions."""

    def count(setting: Setting, rule: Rule = RULE, sessions: int = SESSIONS) -> dict[str, Counter[str]]:
        chance = np.random.default_rng(17)
        found: dict[str, Counter[str]] = {"any case": Counter(), "model": Counter(), "session": Counter()}
        groups = np.arange(setting.n) // setting.size
        own = {"groups": groups} if setting.size > 1 else {}
        for _ in range(sessions):
            comparisons = []
            for case, sides in enumerate(zip(*setting.draw(chance), strict=True)):
                one, other = (make(share(acc1=side), **own, protocol=f"p{case}") for side in sides)
                comparisons += compare_metrics(one, replace(other, weights_sha256="1" * 64))
            verdicts = decide([*comparisons, *pool_models(comparisons)], rule)
            found["any case"].update({verdict.decision for verdict in verdicts[: len(comparisons)]})
            found["model"].update(verdict.decision for verdict in verdicts[len(comparisons) :])
            found["session"][session_verdict(verdicts)] += 1
        return found

    return count


def at_most(level: float, found: int) -> bool:
    """Whether so many of the sessions are not surely more than a level."""
    return bool(binomtest(found, SESSIONS, level, alternative="greater").pvalue > SURE)


@pytest.mark.parametrize("setting", EVERY, ids=str)
def test_without_a_loss_few_sessions_have_a_regression_or_improvement(count: Any, setting: Setting) -> None:
    found = count(setting)
    wrong = found["session"]["regression"] + found["session"]["improvement"]
    assert at_most(ALPHA, wrong)
    assert sum(found["session"].values()) == SESSIONS


@pytest.mark.parametrize(
    "setting",
    [
        Setting(200, 0.05, MARGIN),
        Setting(1000, MARGIN, MARGIN),
        Setting(600, 0.05, MARGIN, size=3),
        Setting(300, 0.05, MARGIN, cases=2, shared=1),
        Setting(600, 0.05, MARGIN, rare=12),
        Setting(24, 0.3, MARGIN),
    ],
    ids=str,
)
def test_a_loss_of_the_margin_is_seldom_excluded(count: Any, setting: Setting) -> None:
    found = count(setting)
    assert at_most(ALPHA, found["any case"]["no regression"])
    assert at_most(ALPHA, found["model"]["no regression"])


@pytest.mark.parametrize("changed", [0.01, 0.05])
def test_no_regression_has_its_power_at_the_stated_number_of_images(count: Any, changed: float) -> None:
    n = samples_for_margin(changed, MARGIN, ALPHA, power=0.8)
    found = count(Setting(n, changed))
    assert at_most(0.2, found["session"]["inconclusive"])
    assert found["session"]["regression"] <= ALPHA * SESSIONS * 2


@pytest.mark.parametrize("setting", [Setting(500, 0.05), Setting(28, 0.1)], ids=str)
def test_a_regression_has_its_power_at_the_stated_loss(count: Any, setting: Setting) -> None:
    loss = minimum_detectable_loss(setting.n, setting.changed, ALPHA, power=0.8)
    changed = max(setting.changed, loss)
    found = count(Setting(setting.n, changed, loss))
    assert at_most(0.2, SESSIONS - found["session"]["regression"])
    better = count(Setting(setting.n, changed, -loss))
    assert at_most(0.2, SESSIONS - better["session"]["improvement"])


def test_a_loss_in_every_case_is_found_for_the_model_more_often_than_in_a_case(count: Any) -> None:
    found = count(Setting(177, 0.09, 0.04, cases=3, shared=0), sessions=80)
    assert found["model"]["regression"] > found["any case"]["regression"] + 8


def test_fewer_than_30_images_without_a_change_are_inconclusive(count: Any) -> None:
    for setting in (Setting(29, 0.0), Setting(12, 0.0), Setting(27, 0.0, size=3)):
        assert count(setting, sessions=20)["session"] == {"inconclusive": 20}  # all alike: nothing is drawn of them


def test_without_a_margin_and_with_other_weights_nothing_is_excluded(count: Any) -> None:
    assert count(Setting(200, 0.05), Rule(ALPHA), 20)["session"]["no regression"] == 0
