"""The metrics of splits of two classes, such as defect or not, for models with scores."""

from collections.abc import Iterator

import numpy as np

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.results.estimates import Estimate, Separation
from eyechart.statistics.auroc import auroc, delong_interval


def binary_scores(predictions: ClassPredictions) -> Iterator[Estimate]:
    """Yield `auroc` under each label set of a split of two classes, if the model scores them.

    The score of an image is the second class's minus the first one's. The area is the same for either class as
    the positive one. Images without a single label do not count.
    """
    if predictions.targets.classes != 2 or not predictions.scores.shape[1]:
        return
    first, second = predictions.scores.astype(np.float64).T
    scores = np.where(predictions.answered, second - first, np.nan)
    for (scored,) in predictions.scores_by_labels:
        label = scored.single_labels
        known = (label >= 0) & ~np.isnan(scores)
        separation = Separation(np.where(known, scores, np.nan), np.where(known, label, np.nan))
        yield Estimate(
            name="auroc",
            labels=scored.labels.name,
            title=scored.labels.name,
            value=auroc(separation.scores, separation.positive),
            n=int(known.sum()),
            interval=delong_interval(separation.scores, separation.positive),
            method="delong",
            separation=separation,
        )
