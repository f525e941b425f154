"""The accuracy of answers to questions, with intervals over images."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from eyechart.evaluation.case_result import bootstrap_means
from eyechart.questions.answers.question_predictions import LABELS, QuestionPredictions
from eyechart.results.estimates import Estimate
from eyechart.statistics.clusters import clustered_t_interval

ACCURACY = "question_acc"


def accuracy(predictions: QuestionPredictions) -> Iterator[Estimate]:
    """Yield the accuracy of all questions, and of each kind of answer if there are several.

    If answers may be right in part, `credit` is the mean of their credit, and comes first. `first_order_acc` is the
    accuracy in the first order of the options, if there are several orders.
    """
    earned, clusters = predictions.credit, predictions.clusters()
    whole = np.where(np.isnan(earned), np.nan, earned == 1)
    if predictions.is_partial:
        yield _mean_credit(predictions)
    yield Estimate.proportion(ACCURACY, whole, clusters, labels=LABELS, title="all questions")
    if predictions.is_circular:
        first = predictions.first_credit
        right = np.where(np.isnan(first), np.nan, first == 1)
        yield Estimate.proportion(
            "first_order_acc", right, clusters, labels=LABELS, title="first order", compared=False
        )
    kinds = [*dict.fromkeys(predictions.kinds)]
    for kind in kinds if len(kinds) > 1 else ():
        chosen = np.array([other == kind for other in predictions.kinds])
        outcomes = np.where(chosen, whole, np.nan)
        yield Estimate.proportion(ACCURACY, outcomes, clusters, labels=LABELS, subset=kind, title=kind)
    unread = np.zeros(len(earned))
    for answer in predictions.answers:
        if not answer.error and answer.reading.credit is None:
            unread[answer.row] = 1
    yield Estimate.proportion(
        "unparsed", np.where(np.isnan(earned), np.nan, unread), clusters, labels=LABELS, compared=False
    )


def _mean_credit(predictions: QuestionPredictions) -> Estimate:
    """Return the mean credit of the questions, with Student's interval over images."""
    earned, clusters = predictions.credit, predictions.clusters()
    known = ~np.isnan(earned)
    n, n_clusters = int(known.sum()), len(np.unique(clusters[known]))
    return Estimate(
        name="credit",
        labels=LABELS,
        title="mean credit",
        value=float(earned[known].mean()) if n else None,
        n=n,
        n_clusters=n_clusters,
        interval=clustered_t_interval(earned, clusters) if n else None,
        method="student" if n_clusters == n else "clustered student",
        bootstrap=partial(bootstrap_means, earned, clusters, predictions.seed),
    )
