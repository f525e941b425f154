"""The metrics of abstention: how often a model abstains, by prompt level, prompt and true reason."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.realbirdid.answers.abstention_predictions import AbstentionPredictions
from eyechart.realbirdid.answers.bird_predictions import LABELS
from eyechart.realbirdid.answers.prompt_sets import prompt_number as numbered
from eyechart.realbirdid.data.observations import REASONS
from eyechart.realbirdid.metrics.shares import answerability_strata
from eyechart.realbirdid.statistics.cochran import cochran_q
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES
from eyechart.results.records import ANSWERABLE, UNANSWERABLE
from eyechart.statistics.degenerate_intervals import max_unseen_share, share_interval
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import cluster_bootstrap_totals, percentile_interval, ratios, unit_bootstrap_shares

CHI_SQUARED = "chi-squared"
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _LevelAnswers:
    """Responses about a subset to the k prompts of a level, whose name is `prompt`.

    `answered` and `abstained` (k, n) are masks, and `clusters` (n,) the observations.
    """

    subset: str
    prompt: str
    answered: Bools
    abstained: Bools
    clusters: Ints

    @property
    def rates(self) -> Floats:
        """The abstention rate of each prompt (k,), NaN without responses."""
        return ratios(self.abstained.sum(axis=1), self.answered.sum(axis=1))

    def estimate(self, name: str, value: float, images: Bools, interval: Interval | None, **more: Any) -> Estimate:
        """Return an estimate over images (n,), a mask, by default with a bootstrap interval over observations."""
        return Estimate(
            name=name,
            labels=LABELS,
            subset=self.subset,
            prompt=self.prompt,
            value=value,
            n=int(images.sum()),
            n_clusters=len(np.unique(self.clusters[images])),
            interval=interval,
            **({"method": "bootstrap"} | more),
        )

    def bootstrap_rates(self, seed: int) -> Floats:
        """Return the rates (times, k) in bootstrap resamples of observations with all their responses."""
        table = np.concatenate([self.abstained & self.answered, self.answered]).T.astype(np.int64)
        declined, answered = np.split(cluster_bootstrap_totals(table, self.clusters, RESAMPLES, seed), 2, axis=1)
        return ratios(declined, answered)


def abstention_rates(predictions: AbstentionPredictions) -> Iterator[Estimate]:
    """Yield the abstention rate by prompt level and by prompt, and the standard deviation over prompts.

    An unparsed response does not count as an abstention.
    """
    for group in _level_answers(predictions):
        yield from _rate_mean_and_sd(group, predictions.seed)
        yield from _prompt_rates(group)


def prompt_effects(predictions: AbstentionPredictions) -> Iterator[Estimate]:
    """Yield Cochran's Q over the prompts of each level, of the images that have a response to every prompt."""
    for group in _level_answers(predictions):
        yield from _cochran_estimates(group)


def abstention_reasons(predictions: AbstentionPredictions) -> Iterator[Estimate]:
    """Yield the abstention rate by true reason, and how often the extracted reason is the true one."""
    for level in predictions.levels:
        yield from _rates_by_reason(predictions, level, predictions.seed)
        yield _correct_reason_rate(predictions, level, predictions.seed)


def _level_answers(predictions: AbstentionPredictions) -> Iterator[_LevelAnswers]:
    """Yield the responses of every level, for unanswerable images and, if there are any, for answerable ones."""
    sets = {UNANSWERABLE: ~predictions.answerable, ANSWERABLE: predictions.answerable}
    for level, part in predictions.levels.items():
        for name, mask in sets.items():
            if name == UNANSWERABLE or mask.any():
                answered, declined = predictions.answered[part][:, mask], predictions.abstained[part][:, mask]
                yield _LevelAnswers(name, level, answered, declined, predictions.image_clusters[mask])


def _rate_mean_and_sd(group: _LevelAnswers, seed: int) -> Iterator[Estimate]:
    """Yield the mean and the standard deviation of the prompts' rates, with intervals over observations."""
    rates = group.rates[~np.isnan(group.rates)]
    images: Bools = np.asarray(group.answered.any(axis=0))
    units = len(np.unique(group.clusters[images]))
    value = float(rates.mean()) if rates.size else float("nan")
    draws = group.bootstrap_rates(seed)[:, ~np.isnan(group.rates)]
    means = draws.mean(axis=1) if rates.size else np.zeros(0)
    interval = share_interval(means, value, units) if images.any() else None
    title = f"{group.subset}, abstained, {group.prompt}"
    yield group.estimate("abstention", value, images, interval, title=title)
    known = len(rates) > 1
    sd = float(rates.std(ddof=1)) if known else float("nan")
    ci = sd_interval(draws.std(axis=1, ddof=1), sd, units, len(rates)) if known else None
    yield group.estimate("abstention_sd", sd, images, ci)


def sd_interval(draws: Floats, sd: float, birds: int, wordings: int) -> Interval:
    """Return the percentile interval of a standard deviation, or a bound for it where all resamples are equal.

    If all resamples are equal, unobserved birds may have a share of up to `max_unseen_share(birds)`. Each rate then
    moves by at most that share, and the deviation of k rates is at most half of that times √(k / (k - 1)). Resamples
    vary more than the observations, so the interval is extended to contain the value.
    """
    if len({*draws[~np.isnan(draws)].tolist()}) > 1:
        low, high = percentile_interval(draws)
        return Interval(min(low, sd), max(high, sd))
    other, most = max_unseen_share(birds), np.sqrt(wordings / (wordings - 1)) / 2
    return Interval(max(0.0, sd * (1 - 2 * other)), float(min(most, sd + other * most)))


def _prompt_rates(group: _LevelAnswers) -> Iterator[Estimate]:
    """Yield the abstention rate of each prompt, with Wilson's interval."""
    for index, (answered, abstained) in enumerate(zip(group.answered, group.abstained, strict=True)):
        prompt = f"{group.prompt}/{numbered(index, len(group.answered))}"
        outcomes = np.where(answered, abstained, np.nan)
        # The gate compares all images of a case, and this covers only some.
        yield Estimate.proportion(
            "abstention", outcomes, group.clusters, compared=False, labels=LABELS, subset=group.subset, prompt=prompt
        )


def _cochran_estimates(group: _LevelAnswers) -> Iterator[Estimate]:
    """Yield Cochran's Q and its p-value over the prompts of a level."""
    whole: Bools = np.asarray(group.answered.all(axis=0))
    if len(group.answered) > 1:
        test = cochran_q(group.abstained[:, whole].T, group.clusters[whole])
        yield group.estimate("cochran_q", test.q, whole, None, method=CHI_SQUARED)
        yield group.estimate("cochran_p", test.p, whole, None, method=CHI_SQUARED)


def _rates_by_reason(predictions: AbstentionPredictions, level: str, seed: int) -> Iterator[Estimate]:
    """Yield the abstention rate by true reason, whatever reason the response gives."""
    part = predictions.levels[level]
    for index, reason in enumerate(REASONS):
        birds = predictions.reason == index
        answered, declined = predictions.answered[part][:, birds], predictions.abstained[part][:, birds]
        clusters = predictions.image_clusters[birds]
        yield _pooled_proportion("p_abstain", reason, level, declined, answered, clusters, seed)


def _correct_reason_rate(predictions: AbstentionPredictions, level: str, seed: int) -> Estimate:
    """Return the proportion of abstentions whose extracted reason is the true one."""
    right, with_reason = _reason_masks(predictions, level)

    def bootstrap() -> Floats:
        part, whole = np.zeros((2, len(predictions.keys)))
        part[predictions.image_indices], whole[predictions.image_indices] = right.sum(axis=0), with_reason.sum(axis=0)
        return unit_bootstrap_shares(
            part,
            whole,
            RESAMPLES,
            seed,
            answerability_strata(predictions.observations),
            predictions.observations.clusters,
        )

    pool = _pooled_proportion("correct_reason", "", level, right, with_reason, predictions.image_clusters, seed)
    return replace(pool, bootstrap=bootstrap)


def _reason_masks(predictions: AbstentionPredictions, level: str) -> tuple[Bools, Bools]:
    """Return two masks (k, r): abstentions with the true reason, and all abstentions on images with a known reason."""
    part = predictions.levels[level]
    declined = predictions.abstained[part] & (predictions.reason >= 0)
    return declined & (predictions.choice_indices[part] == predictions.reason), declined


def _pooled_proportion(
    name: str, subset: str, prompt: str, part: Bools, whole: Bools, clusters: Ints, seed: int
) -> Estimate:
    """Return a proportion of responses (k, n), with a bootstrap interval over observations (n,)."""
    counts = np.stack([(part & whole).sum(axis=0), whole.sum(axis=0)], axis=1)
    counts, units = counts[counts[:, 1] > 0], clusters[counts[:, 1] > 0]
    n = int(counts[:, 1].sum())
    value = float(counts[:, 0].sum() / n) if n else float("nan")
    drawn = cluster_bootstrap_totals(counts, units, RESAMPLES, seed)
    draws = ratios(drawn[:, 0], drawn[:, 1])
    n_clusters = len(np.unique(units))
    return Estimate(
        name=name,
        labels=LABELS,
        subset=subset,
        prompt=prompt,
        value=value,
        n=n,
        n_clusters=n_clusters,
        interval=share_interval(draws, value, n_clusters) if n else None,
        method="bootstrap",
    )
