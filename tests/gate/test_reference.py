"""200 random sessions against an independent reference: plain loops over all signs, scipy and statsmodels.

The sessions are small, so that every sign of every image can be tried: the joint test is then exact on both sides.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, norm, t
from statsmodels.stats.multitest import multipletests

from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.comparison.pooled import pool_models
from eyechart.gate.verdicts.decide import Rule, decide
from eyechart.results.evidence import Evidence

SESSIONS = 100
RULE = Rule(alpha=0.3, max_drop=0.6, margin=0.45)
Unit = tuple[str, int]


@dataclass
class Number:
    """A number of a session as the reference knows it: outcomes of both sides, or bootstrap values of both sides."""

    split: str
    model: str
    primary: bool
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    clusters: list[Unit] = field(default_factory=list)
    draws: tuple[Any, Any] | None = None
    values: tuple[float, float] = (0, 0)
    n: int = 0
    same_weights: bool = False

    @property
    def changes(self) -> list[tuple[Unit, int]]:
        """The unit and change of each sample that changed."""
        pairs = zip(self.clusters, self.before, self.after, strict=True)
        return [(unit, round(after - before)) for unit, before, after in pairs if after != before]

    @property
    def units(self) -> dict[Unit, int]:
        """The change of each unit."""
        total: dict[Unit, int] = {}
        for unit, change in self.changes:
            total[unit] = total.get(unit, 0) + change
        return total


@dataclass
class Session:
    """The numbers as the reference knows them, and the evidence of both sides."""

    numbers: list[Number]
    pairs: list[tuple[Evidence, Evidence]]


@pytest.fixture
def random_session(make: Any, share: Any, drawn: Any) -> Any:
    """Return a random session by its seed."""

    def made(seed: int) -> Session:
        chance = np.random.default_rng(seed)
        session = Session([], [])
        sizes = {"a": int(chance.integers(1, 9)), "b": int(chance.integers(1, 5))}
        groups = {split: np.sort(chance.integers(0, size, size)) for split, size in sizes.items()}
        clustered = bool(chance.random() < 0.4)
        groups = {split: group if clustered else np.arange(len(group)) for split, group in groups.items()}
        for number in range(int(chance.integers(1, 4))):
            split, model = str(chance.choice(["a", "a", "b"])), str(chance.choice(["m[]", "m[]", "other"]))
            flips, loss = float(chance.choice([0, 0.3, 0.8])), float(chance.choice([0, 0.5, 1]))
            names = ["acc1", "acc5", "recall"][: int(chance.integers(1, 4))]
            size, sides = sizes[split], ({}, {})  # type: tuple[int, tuple[dict[str, Any], dict[str, Any]]]
            for name in names:
                changes = chance.random(size) < flips
                right = np.where(changes, chance.random(size) < loss, chance.random(size) < 0.5).astype(float)
                sides[0][name], sides[1][name] = right, np.where(changes, 1 - right, right)
            other = chance.random() < 0.3
            same = bool(chance.random() < 0.2)
            evidence = []
            for side, weights in zip(sides, ("0" * 64, ("0" if same else "1") * 64), strict=True):
                estimates = [*share(**side), *([drawn(side["acc1"])] if other else [])]
                settings = {"case": f"imagenet/{split}/{model}", "protocol": f"p{number}", "model": model}
                own = {"groups": groups[split]} if clustered else {}
                evidence.append(make(estimates, **own, **settings, weights_sha256=weights, fingerprint=split))
            session.pairs.append((evidence[0], evidence[1]))
            common = {"split": split, "model": model, "same_weights": same, "n": size}
            for index, name in enumerate(names):
                outcomes = {"before": sides[0][name].tolist(), "after": sides[1][name].tolist()}
                session.numbers.append(
                    Number(
                        primary=index == 0,
                        clusters=[(split, unit) for unit in groups[split].tolist()],
                        **outcomes,
                        **common,
                    )
                )
            if other:
                draws = tuple(each.bootstrap_samples(each.metrics[-1]) for each in evidence)
                values = tuple(float(each.metrics[-1].value or 0) for each in evidence)
                session.numbers.append(Number(primary=False, draws=draws, values=values, **(common | {"n": 10})))
        return session

    return made


@pytest.mark.deep
def test_random_sessions_have_the_verdicts_of_the_reference(random_session: Any) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SESSIONS):
        session = random_session(seed)
        comparisons = [each for pair in session.pairs for each in compare_metrics(*pair)]
        pooled = pool_models(comparisons)
        verdicts = decide([*comparisons, *pooled], RULE)
        expected = reference(session.numbers, [each.model for each in pooled])
        assert len(verdicts) == len(expected)
        for verdict, (p, adjusted, limit, word) in zip(verdicts, expected, strict=True):
            about = f"session {seed}: {verdict.comparison}"
            assert verdict.comparison.p == pytest.approx(p, abs=1e-9), about
            assert verdict.adjusted == pytest.approx(adjusted, abs=1e-9), about
            if limit is not None:
                assert verdict.limit == pytest.approx(limit, abs=2e-4), about
                assert verdict.decision == word, about
            seen[word] += 1
        assert {each.model for each in pooled} == pooled_models(session.numbers), seed
    assert min(seen[word] for word in ("regression", "improvement", "inconclusive", "no regression", "tolerated")) > 4


def pooled_models(numbers: list[Number]) -> set[str]:
    """Return the models with several cases."""
    counts = Counter(number.model for number in numbers if number.primary)
    return {model for model, count in counts.items() if count > 1}


def reference(numbers: list[Number], models: list[str]) -> list[tuple[float, float, float | None, str]]:
    """Return p, adjusted p, limit and verdict of each number, then of each model."""
    whole = [pooled_number([n for n in numbers if n.primary and n.model == model]) for model in models]
    primary = [*[number for number in numbers if number.primary], *whole]
    others = [number for number in numbers if not number.primary]
    adjusted = {**adjust(primary), **adjust(others)}
    found = []
    for number in (*numbers, *whole):
        limit = upper_limit(number)
        p = own_p(number)
        before, after = means(number)
        loss = before - after
        if adjusted[id(number)] < RULE.alpha and loss:
            word = "improvement" if loss < 0 else "regression" if loss > RULE.max_drop + 1e-9 else "tolerated"
        else:
            word = "no regression" if limit is not None and limit < (RULE.margin or 0) else "inconclusive"
        found.append((p, adjusted[id(number)], limit, word))
    return found


def pooled_number(cases: list[Number]) -> Number:
    """Return all samples of several cases as one number."""
    return Number(
        split="all",
        model=cases[0].model,
        primary=True,
        before=[value for case in cases for value in case.before],
        after=[value for case in cases for value in case.after],
        clusters=[unit for case in cases for unit in case.clusters],
        n=sum(case.n for case in cases),
        same_weights=all(case.same_weights for case in cases),
    )


def means(number: Number) -> tuple[float, float]:
    """Return the number before and after."""
    if number.draws is not None:
        return number.values
    return sum(number.before) / number.n, sum(number.after) / number.n


def own_p(number: Number) -> float:
    """Return the p-value of one number: the sign test, all signs of clusters, or Student's t of the resamples."""
    before, after = means(number)
    if number.draws is not None:
        if abs(after - before) < 1e-9:
            return 1.0
        draws = number.draws[1] - number.draws[0]
        units = number.n
        error = sqrt(float(np.var(draws, ddof=1)) + (after - before) ** 2 / units)
        if np.ptp(draws) < 1e-9:
            return float(min(1.0, 2 * (1 + abs(after - before)) ** -units))
        return float(2 * t.sf(abs(after - before) / error, len(draws) - 1))
    changes = [change for change in number.units.values() if change]
    if {abs(change) for change in changes} <= {1}:
        return float(binomtest(changes.count(1), len(changes)).pvalue) if changes else 1.0
    total = [abs(sum(c * s for c, s in zip(changes, signs, strict=True))) for signs in all_signs(len(changes))]
    return sum(each >= abs(sum(changes)) for each in total) / len(total)


def all_signs(count: int) -> list[tuple[int, ...]]:
    """Return all signs of some units."""
    return [*product((-1, 1), repeat=count)]


def adjust(family: list[Number]) -> dict[int, float]:
    """Return the adjusted p-values of a family: step-down maxT of proportions, Holm's of others, half a level each."""
    shares = [number for number in family if number.draws is None]
    others = [number for number in family if number.draws is not None]
    kinds = bool(shares) + bool(others)
    adjusted = dict(zip(map(id, shares), joint(shares), strict=True))
    if others:
        distinct = {(each.draws[0].tobytes(), each.draws[1].tobytes()): own_p(each) for each in others if each.draws}
        raised = dict(zip(distinct, multipletests([*distinct.values()], method="holm")[1].tolist(), strict=True))
        adjusted |= {
            id(each): raised[each.draws[0].tobytes(), each.draws[1].tobytes()] for each in others if each.draws
        }
    return {key: min(1.0, kinds * p) for key, p in adjusted.items()}


def joint(shares: list[Number]) -> list[float]:
    """Return Westfall and Young's p-values over all signs, none below the number's own."""
    if len(shares) < 2:
        return [own_p(number) for number in shares]
    every = sorted({unit for number in shares for unit in number.units})
    index = {unit: at for at, unit in enumerate(every)}
    rows = [{index[unit]: change for unit, change in number.units.items() if change} for number in shares]
    sizes = [sqrt(sum(change * change for change in row.values())) for row in rows]
    drawn = [
        [
            abs(sum(c * signs[at] for at, c in row.items())) / size if size else 0.0
            for row, size in zip(rows, sizes, strict=True)
        ]
        for signs in all_signs(len(every))
    ]
    seen = [abs(sum(row.values())) / size if size else 0.0 for row, size in zip(rows, sizes, strict=True)]
    order = sorted(range(len(rows)), key=lambda at: -seen[at])
    highest, adjusted = 0.0, [1.0] * len(rows)
    for step, at in enumerate(order):
        if not sizes[at]:
            continue
        reached = sum(max(each[other] for other in order[step:]) >= seen[at] * (1 - 1e-5) for each in drawn)
        highest = max(highest, reached / len(drawn))
        adjusted[at] = highest
    return [max(p, own_p(number)) for p, number in zip(adjusted, shares, strict=True)]


def upper_limit(number: Number) -> float | None:
    """Return the largest loss that the score test does not reject; of other numbers that of a scaled interval.

    None where no resample differs, for which there is no reference.
    """
    before, after = means(number)
    if number.same_weights and number.before == number.after and before == after:
        return 0.0
    if number.draws is not None:
        draws = number.draws[1] - number.draws[0]
        if np.ptp(draws) < 1e-9:
            return None
        low = min(float(np.percentile(draws, 2.5)), after - before)
        return before - after + (after - before - low) * float(norm.ppf(1 - RULE.alpha) / norm.ppf(0.975))
    share = effective_n(number) / number.n
    lost, gained = (share * sum(change == way for _, change in number.changes) for way in (-1, 1))
    n, z = share * number.n, float(norm.ppf(1 - RULE.alpha))

    def exceeded(loss: float) -> float:
        variance = constrained_variance(lost, gained, n, loss)
        return (lost - gained - n * loss) / sqrt(max(n * variance, 1e-15)) + z

    low = (lost - gained) / n
    return float(brentq(exceeded, low + 1e-9, 1 - 1e-9)) if exceeded(1 - 1e-9) < 0 else 1.0


def effective_n(number: Number) -> float:
    """Return n divided by Kish's design effect of the changes, with Korn and Graubard's ratio of quantiles."""
    moved = [after - before for before, after in zip(number.before, number.after, strict=True)]
    sizes = [number.clusters.count(unit) for unit in dict.fromkeys(number.clusters)]
    if number.split == "all":
        changes = [change for change in number.units.values() if change]
        if not number.changes:
            return float(len(sizes))
        return number.n / max(1.0, effect(changes, [change for _, change in number.changes]))
    most = sum(size * size for size in sizes) / number.n
    mean = sum(moved) / number.n
    apart = [each - mean for each in moved]
    units: dict[Unit, float] = {}
    for unit, value in zip(number.clusters, apart, strict=True):
        units[unit] = units.get(unit, 0) + value
    whole = [*units.values()]
    if len(sizes) == number.n or max(map(abs, apart)) < 1e-9 or max(map(abs, whole)) < 1e-9:
        return number.n / most
    return number.n / min(most, max(1.0, effect(whole, apart)))


def effect(whole: list[float], single: list[float]) -> float:
    """Return the ratio of the sums of squares of clusters and samples, each times its squared quantile."""
    squares, quantiles = [], []
    for values in (whole, single):
        squares.append(sum(value**2 for value in values))
        freedom = squares[-1] ** 2 / fourth if (fourth := sum(value**4 for value in values)) else 1.0
        quantiles.append(float(t.ppf(0.975, freedom)))
    return squares[0] / squares[1] * (quantiles[0] / quantiles[1]) ** 2


def constrained_variance(lost: float, gained: float, n: float, loss: float) -> float:
    """Return the variance of one sample's change if `loss` is the true one, at the maximum of the likelihood."""

    def slope(up: float) -> float:
        terms = ((lost, up + loss, 1), (gained, up, 1), (n - lost - gained, 1 - 2 * up - loss, -2))
        return sum(change * count / share for count, share, change in terms if count > 0)

    low, high = max(0.0, -loss) + 1e-13, (1 - loss) / 2 - 1e-13
    if slope(low) <= 0 or high <= low:
        best = low
    else:
        best = high if slope(high) >= 0 else float(brentq(slope, low, high, xtol=1e-13))
    return 2 * best + loss - loss**2
