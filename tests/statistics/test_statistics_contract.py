"""What every public metric owes its reader: a source, a doctest, and one sentence when it refuses."""

import doctest
import importlib
import inspect
import math
import pkgutil
from typing import Any

import pytest

from eyechart import statistics
from eyechart.oodbench import statistics as of_pairs
from eyechart.oodbench.statistics import degradation, finite_population, mmd, statistical_tests
from eyechart.realbirdid import statistics as of_birds
from eyechart.realbirdid.statistics import abstention_tradeoff, cochran, hierarchy, stopping
from eyechart.statistics import (
    accuracy,
    agreement,
    calibration,
    categories,
    clusters,
    degenerate_intervals,
    equivalence,
    intervals,
    recall,
    resampling,
    selective,
    thresholds,
    yes_no,
)

MODULES = [
    importlib.import_module(f"{package.__name__}.{found.name}")
    for package in (statistics, of_pairs, of_birds)
    for found in pkgutil.iter_modules(package.__path__)
]
PUBLIC = [
    function
    for module in MODULES
    if not module.__name__.rpartition(".")[2].startswith("_")
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
]


def test_numbers_of_one_case_are_of_the_same_resamples_and_their_intervals_of_one_level_by_default() -> None:
    defaults = {
        (name, each.default) for function in PUBLIC for name, each in inspect.signature(function).parameters.items()
    }
    for name, expected in (("seed", 0), ("level", 0.95), ("bins", 15)):
        assert {value for parameter, value in defaults if parameter == name} <= {expected, inspect.Parameter.empty}


def test_every_public_function_is_documented() -> None:
    parts = ("Args:\n", "Returns:\n", "Source: ")  # and Raises, unless it raises nothing
    lacking = {each.__name__: [part for part in parts if part not in (inspect.getdoc(each) or "")] for each in PUBLIC}
    assert {name: missing for name, missing in lacking.items() if missing} == {}
    found = {each.__name__: doctest.DocTestFinder().find(each, each.__name__, globs={})[0] for each in PUBLIC}
    assert [name for name, test in found.items() if not test.examples] == []


def test_the_public_functions_are_found() -> None:
    assert {"top_k", "expand_labels", "label_categories", "per_class_recall", "wilson", "phi_matrix", "mmd2"} <= {
        f.__name__ for f in PUBLIC
    }


ONE = [[0]]
YES = [True]
TABLE = [[1, 0, 0, 1]]
TWO = ([[0.0], [1.0]], [0, 0])
TREE = hierarchy.Tree.from_levels([[0, 1]])
STAIRS = hierarchy.threshold_steps(TREE, [[0.75, 0.25]])
REFUSED = [
    ("k", "top_k", lambda: accuracy.top_k([[0.1, 0.2]], 3), "3"),
    ("k", "top_k", lambda: accuracy.top_k([[0.1, 0.2]], 0), "0"),
    ("k", "top_k", lambda: accuracy.top_k([[0.1, 0.2]], 1.5), "1.5"),
    ("scores", "top_k", lambda: accuracy.top_k([0.1, 0.2], 1), "an array of float64 with shape (2,)"),
    ("scores", "top_k", lambda: accuracy.top_k([[0.1, math.nan]], 1), "1"),
    ("k", "hits", lambda: accuracy.hits(ONE, ONE, k=2), "2"),
    ("k", "hits", lambda: accuracy.hits(ONE, ONE, k=0), "0"),
    ("top", "hits", lambda: accuracy.hits([[0.5]], ONE), "an array of float64 with shape (1, 1)"),
    ("top", "hits", lambda: accuracy.hits([[-2]], ONE), "-2"),
    ("labels", "hits", lambda: accuracy.hits(ONE, [[0], [1]]), "an array of int64 with shape (2, 1)"),
    ("labels", "correctness", lambda: accuracy.correctness(ONE, [0], YES), "an array of int64 with shape (1,)"),
    ("empty", "correctness", lambda: accuracy.correctness(ONE, ONE, YES, empty="maybe"), "'maybe'"),
    ("annotated", "correctness", lambda: accuracy.correctness(ONE, ONE, [1]), "an array of int64 with shape (1,)"),
    (
        "answered",
        "correctness",
        lambda: accuracy.correctness(ONE, ONE, YES, answered=YES * 2),
        "an array of bool with shape (2,)",
    ),
    ("outcome", "accuracy", lambda: accuracy.accuracy([0.5]), "0.5"),
    ("a", "correct_under_both", lambda: accuracy.correct_under_both([2], [1]), "2.0"),
    (
        "b",
        "correct_under_both",
        lambda: accuracy.correct_under_both([1], [1, 0]),
        "an array of float64 with shape (2,)",
    ),
    ("pairs", "equivalence_groups", lambda: equivalence.equivalence_groups([(0, 3)], 3), "3"),
    ("pairs", "expand_labels", lambda: equivalence.expand_labels(ONE, [(0, -1)], 3), "-1"),
    (
        "pairs",
        "expand_labels",
        lambda: equivalence.expand_labels(ONE, [(0, 1, 2)], 3),
        "an array of int64 with shape (1, 3)",
    ),
    ("labels", "expand_labels", lambda: equivalence.expand_labels([[3]], [], 3), "3"),
    ("classes", "equivalence_groups", lambda: equivalence.equivalence_groups([], -1), "-1"),
    ("original", "label_categories", lambda: categories.label_categories([4], ONE, YES, groups=[0]), "4"),
    (
        "labels",
        "label_categories",
        lambda: categories.label_categories([0], [[0], [0]], YES),
        "an array of int64 with shape (2, 1)",
    ),
    (
        "annotated",
        "label_categories",
        lambda: categories.label_categories([0], ONE, [False, True]),
        "an array of bool with shape (2,)",
    ),
    ("labels", "collapse_groups", lambda: categories.collapse_groups([[1]], [0]), "1"),
    ("groups", "collapse_groups", lambda: categories.collapse_groups([[1]], [0, -1]), "-1"),
    ("correct", "per_class_recall", lambda: recall.per_class_recall([1.5], [0], 1), "1.5"),
    ("labels", "per_class_recall", lambda: recall.per_class_recall([1], [1], 1), "1"),
    (
        "labels",
        "per_class_recall",
        lambda: recall.per_class_recall([1], [0, 0], 1),
        "an array of int64 with shape (2,)",
    ),
    ("k", "wilson", lambda: intervals.wilson(3, 2), "3"),
    ("n", "wilson", lambda: intervals.wilson(0, -1), "-1"),
    ("k", "clopper_pearson", lambda: intervals.clopper_pearson(0.5, 2), "0.5"),
    ("level", "wilson", lambda: intervals.wilson(1, 2, 1), "1"),
    ("level", "t_interval", lambda: intervals.t_interval([1, 2], 95), "95"),
    ("values", "t_interval", lambda: intervals.t_interval([[1, 2]]), "an array of float64 with shape (1, 2)"),
    (
        "classes",
        "stratified_interval",
        lambda: intervals.stratified_interval([1, 0], [0]),
        "an array of int64 with shape (1,)",
    ),
    ("r", "fisher_interval", lambda: intervals.fisher_interval(1.5, 9), "1.5"),
    ("kind", "fisher_interval", lambda: intervals.fisher_interval(0.5, 9, "kendall"), "'kendall'"),
    ("correct", "phi_matrix", lambda: agreement.phi_matrix([[0.5]]), "0.5"),
    ("p", "effective_wilson", lambda: intervals.effective_wilson(1.5, 9), "1.5"),
    ("n", "effective_wilson", lambda: intervals.effective_wilson(0.5, 0), "0"),
    ("confidences", "reliability", lambda: calibration.reliability([1.5], [1]), "1.5"),
    ("correct", "reliability", lambda: calibration.reliability([0.5], [0.5]), "0.5"),
    ("bins", "reliability", lambda: calibration.reliability([0.5], [1], 0), "0"),
    ("level", "reliability", lambda: calibration.reliability([0.5], [1], level=95), "95"),
    ("binning", "calibration_error", lambda: calibration.calibration_error([0.5], [1], binning="equal"), "'equal'"),
    (
        "correct",
        "calibration_error",
        lambda: calibration.calibration_error([0.5], [1, 0]),
        "an array of float64 with shape (2,)",
    ),
    ("level", "calibration_error_interval", lambda: calibration.calibration_error_interval([1], [1], level=1), "1"),
    ("confidences", "brier_score", lambda: calibration.brier_score([-0.5], [1]), "-0.5"),
    ("level", "brier_interval", lambda: calibration.brier_interval([1], [1], 0), "0"),
    (
        "confidences",
        "accuracy_coverage",
        lambda: thresholds.accuracy_coverage([[1]], [1]),
        "an array of float64 with shape (1, 1)",
    ),
    ("weights", "accuracy_coverage", lambda: thresholds.accuracy_coverage([1], [1], [-1]), "-1.0"),
    ("weights", "accuracy_coverage", lambda: thresholds.accuracy_coverage([1], [1], [math.inf]), "inf"),
    (
        "weights",
        "accuracy_coverage_area",
        lambda: thresholds.accuracy_coverage_area([1], [1], [1, 1]),
        "an array of float64 with shape (2,)",
    ),
    ("correct", "accuracy_coverage_area", lambda: thresholds.accuracy_coverage_area([1], [2]), "2.0"),
    ("coverage", "accuracy_at_coverage", lambda: thresholds.accuracy_at_coverage([1], [1], 0), "0"),
    ("coverage", "accuracy_at_coverage", lambda: thresholds.accuracy_at_coverage([1], [1], 1.5), "1.5"),
    (
        "level",
        "accuracy_coverage_area_interval",
        lambda: thresholds.accuracy_coverage_area_interval([1], [1], level=2),
        "2",
    ),
    ("criterion", "uncertainty", lambda: abstention_tradeoff.uncertainty("max", [1], [0], [0]), "'max'"),
    (
        "second",
        "uncertainty",
        lambda: abstention_tradeoff.uncertainty("margin", [1], [0, 0], [0]),
        "an array of float64 with shape (2,)",
    ),
    ("uncertainty", "abstention_curve", lambda: abstention_tradeoff.abstention_curve([math.inf], YES), "inf"),
    (
        "unanswerable",
        "abstention_curve",
        lambda: abstention_tradeoff.abstention_curve([1.0], [1]),
        "an array of int64 with shape (1,)",
    ),
    ("share", "abstention_rate_at", lambda: abstention_tradeoff.abstention_rate_at([1], YES, 0), "0"),
    ("uncertainty", "ua_a", lambda: abstention_tradeoff.ua_a([[1]], YES), "an array of float64 with shape (1, 1)"),
    ("unanswerable", "ua_a", lambda: abstention_tradeoff.ua_a([1], YES * 2), "an array of bool with shape (2,)"),
    ("level", "Measure.interval", lambda: abstention_tradeoff.ua_a([1], YES).interval(level=95), "95"),
    ("b", "harmonic_mean", lambda: abstention_tradeoff.harmonic_mean(0.5, -1), "-1"),
    ("correct_ua", "harmonic_mean_interval", lambda: abstention_tradeoff.harmonic_mean_interval([1], [2]), "2.0"),
    (
        "classes",
        "macro_accuracy_coverage",
        lambda: selective.macro_accuracy_coverage([1], [1], [0.5]),
        "an array of float64 with shape (1,)",
    ),
    ("correct", "macro_auc", lambda: selective.macro_auc([1], [1, 0], [1]), "an array of float64 with shape (2,)"),
    ("classes", "balanced_weights", lambda: selective.balanced_weights([1], [-2]), "-2"),
    ("average", "accuracy_coverage_auc", lambda: selective.accuracy_coverage_auc([1], [1], average="mean"), "'mean'"),
    ("classes", "accuracy_coverage_auc", lambda: selective.accuracy_coverage_auc([1], [1], average="macro"), "None"),
    (
        "confidences",
        "accuracy_coverage_auc",
        lambda: selective.accuracy_coverage_auc([[1]], [1]),
        "an array of float64 with shape (1, 1)",
    ),
    ("truth", "correct_range", lambda: stopping.correct_range(STAIRS, [0, 1]), "an array of int64 with shape (2,)"),
    ("high", "best_threshold", lambda: stopping.best_threshold([0.5], [0.25], YES), "0.25"),
    ("high", "cross_fit_threshold", lambda: stopping.cross_fit_threshold([0.5], [math.nan], YES), "nan"),
    ("outcomes", "cochran_q", lambda: cochran.cochran_q([[1]]), "an array of float64 with shape (1, 1)"),
    ("outcomes", "cochran_q", lambda: cochran.cochran_q([[1, 3]]), "3.0"),
    ("answers", "confusion_tables", lambda: yes_no.confusion_tables([[2]], [[True]]), "2"),
    ("answers", "confusion_tables", lambda: yes_no.confusion_tables([[-3]], [[True]]), "-3"),
    ("answers", "confusion_tables", lambda: yes_no.confusion_tables([1], [True]), "an array of int64 with shape (1,)"),
    (
        "expected",
        "confusion_tables",
        lambda: yes_no.confusion_tables([[1]], [[1]]),
        "an array of int64 with shape (1, 1)",
    ),
    (
        "expected",
        "confusion_tables",
        lambda: yes_no.confusion_tables([[1, 0]], [YES]),
        "an array of bool with shape (1, 1)",
    ),
    ("table", "confusion_measures", lambda: yes_no.confusion_measures(5), "an array of float64 with shape ()"),
    (
        "table",
        "confusion_measures",
        lambda: yes_no.confusion_measures([1, 2, 3]),
        "an array of float64 with shape (3,)",
    ),
    ("table", "confusion_measures", lambda: yes_no.confusion_measures([1, 2, 3, -4]), "-4.0"),
    ("table", "confusion_measures", lambda: yes_no.confusion_measures([1, 2, 3, -0.5]), "-0.5"),
    ("table", "confusion_measures", lambda: yes_no.confusion_measures([1, 2, 3, math.inf]), "inf"),
    ("r", "fisher_interval", lambda: intervals.fisher_interval(-1.5, 9), "-1.5"),
    ("table", "confusion_measures", lambda: yes_no.confusion_measures([1, 2, 3, math.nan]), "nan"),
    ("accuracy", "derive_measures", lambda: yes_no.derive_measures(84.79, 0.8), "84.79"),
    ("recall", "derive_measures", lambda: yes_no.derive_measures(0.8, [0.5, 1.5, 2.5]), "1.5"),
    ("share", "share_interval", lambda: degenerate_intervals.share_interval([0.5], 1.5, 9), "1.5"),
    ("rows", "bootstrap_totals", lambda: resampling.bootstrap_totals([[-1]], 1), "-1"),
    (
        "rows",
        "bootstrap_totals",
        lambda: resampling.bootstrap_totals([[0.5]], 1),
        "an array of float64 with shape (1, 1)",
    ),
    ("times", "bootstrap_totals", lambda: resampling.bootstrap_totals(ONE, -1), "-1"),
    (
        "first",
        "permutation_totals",
        lambda: resampling.permutation_totals([0], ONE, 1),
        "an array of int64 with shape (1,)",
    ),
    (
        "second",
        "permutation_totals",
        lambda: resampling.permutation_totals(ONE, [[0, 1]], 1),
        "an array of int64 with shape (1, 2)",
    ),
    (
        "clusters",
        "cluster_bootstrap_totals",
        lambda: resampling.cluster_bootstrap_totals(ONE, [0, 1], 1),
        "an array of int64 with shape (2,)",
    ),
    ("clusters", "cluster_bootstrap_totals", lambda: resampling.cluster_bootstrap_totals(ONE, [-1], 1), "-1"),
    ("n", "bootstrap_counts", lambda: resampling.bootstrap_counts(-1), "-1"),
    (
        "scored",
        "unit_bootstrap_shares",
        lambda: resampling.unit_bootstrap_shares([1, 0], [[1], [1]]),
        "an array of float64 with shape (2, 1)",
    ),
    (
        "tables",
        "measure_intervals",
        lambda: degenerate_intervals.measure_intervals([[1, 0, 0, 1, 0]], {}),
        "an array of int64 with shape (1, 5)",
    ),
    (
        "values",
        "effective_sample_size",
        lambda: clusters.effective_sample_size([math.inf], [0]),
        "an array of float64 with shape (1,)",
    ),
    (
        "values",
        "effective_sample_size",
        lambda: clusters.effective_sample_size([[1]], [0]),
        "an array of float64 with shape (1, 1)",
    ),
    ("clusters", "clustered_wilson", lambda: clusters.clustered_wilson([1], [-1]), "-1"),
    (
        "strata",
        "bootstrap_counts",
        lambda: resampling.bootstrap_counts(2, strata=[0]),
        "an array of int64 with shape (1,)",
    ),
    (
        "draws",
        "percentile_interval",
        lambda: resampling.percentile_interval([[1]]),
        "an array of float64 with shape (1, 1)",
    ),
    ("level", "percentile_interval", lambda: resampling.percentile_interval([1], 95), "95"),
    ("id", "degradation", lambda: degradation.degradation(ONE, TABLE), "an array of int64 with shape (1, 1)"),
    ("ood", "degradation", lambda: degradation.degradation(TABLE, [[1, 0, 0, -1]]), "-1"),
    ("times", "degradation", lambda: degradation.degradation(TABLE, TABLE, 0), "0"),
    (
        "intervals",
        "degradation_band",
        lambda: degradation.degradation_band([(1, 2, 3)]),
        "an array of float64 with shape (1, 3)",
    ),
    (
        "intervals",
        "degradation_band",
        lambda: degradation.degradation_band([(2, 1)]),
        "an array of float64 with shape (1, 2)",
    ),
    ("interval", "is_equivalent", lambda: degradation.is_equivalent((1,), 1), "(1,)"),
    ("id", "tost", lambda: degradation.tost([TABLE], [TABLE]), "an array of int64 with shape (1, 1, 4)"),
    ("id", "tost", lambda: degradation.tost(TABLE, [TABLE]), "an array of int64 with shape (1, 4)"),
    ("ood", "tost", lambda: degradation.tost([TABLE] * 2, [TABLE] * 3), "an array of int64 with shape (3, 1, 4)"),
    ("first", "f_test", lambda: statistical_tests.f_test([[1]], [1]), "an array of float64 with shape (1, 1)"),
    ("second", "f_test", lambda: statistical_tests.f_test([1], [math.inf]), "inf"),
    ("y", "correlation", lambda: statistical_tests.correlation([1, 2], [1]), "an array of float64 with shape (1,)"),
    ("tail", "monte_carlo_p_value", lambda: statistical_tests.monte_carlo_p_value(0, [1], "both"), "'both'"),
    (
        "baseline",
        "monte_carlo_p_value",
        lambda: statistical_tests.monte_carlo_p_value(0, [[1]]),
        "an array of float64 with shape (1, 1)",
    ),
    ("k", "population_share", lambda: finite_population.population_share(51, 50), "51"),
    ("level", "population_share", lambda: finite_population.population_share(1, 50, 95), "95"),
    ("hits", "upper_limit_below", lambda: finite_population.upper_limit_below(5, 4, 0.05), "5"),
    ("epsilon", "upper_limit_below", lambda: finite_population.upper_limit_below(5, 40, 5), "5"),
    ("recalls", "spearman_matrix", lambda: agreement.spearman_matrix([0.5]), "an array of float64 with shape (1,)"),
    ("x", "mmd2", lambda: mmd.mmd2([[math.nan], [1]], [0, 0], *TWO), "nan"),
    ("x", "mmd2", lambda: mmd.mmd2([[0.0]], [0], *TWO), "an array of float64 with shape (1, 1)"),
    ("y", "mmd2", lambda: mmd.mmd2(*TWO, [[0, math.inf], [1, 1]], [0, 0]), "inf"),
    ("y", "mmd2", lambda: mmd.mmd2(*TWO, [[0, 0], [1, 1]], [0, 0]), "an array of float64 with shape (2, 2)"),
    ("x_classes", "mmd2", lambda: mmd.mmd2(TWO[0], [0], *TWO), "an array of int64 with shape (1,)"),
    ("y_classes", "mmd2", lambda: mmd.mmd2(*TWO, TWO[0], [0, -1]), "-1"),
    ("bandwidth", "mmd2", lambda: mmd.mmd2(*TWO, *TWO, 0), "0"),
    ("block", "mmd2", lambda: mmd.mmd2(*TWO, *TWO, block=0), "0"),
    ("x", "mmd_equivalence", lambda: mmd.mmd_equivalence(*TWO, *TWO), "an array of float64 with shape (2, 1)"),
    (
        "times",
        "mmd_equivalence",
        lambda: mmd.mmd_equivalence([[0]] * 4, [0] * 4, [[0]] * 4, [0] * 4, times=0),
        "0",
    ),
    (
        "splits",
        "mmd_equivalence",
        lambda: mmd.mmd_equivalence([[0]] * 4, [0] * 4, [[0]] * 4, [0] * 4, splits=0),
        "0",
    ),
    ("x", "median_distance", lambda: mmd.median_distance([0.5], [0]), "an array of float64 with shape (1,)"),
    (
        "classes",
        "median_distance",
        lambda: mmd.median_distance([[0.5]], [0.5]),
        "an array of float64 with shape (1,)",
    ),
    ("pairs", "median_distance", lambda: mmd.median_distance([[0.5]], [0], pairs=0), "0"),
]


def test_refusals_name_the_parameter_and_what_came(subtests: Any) -> None:
    for parameter, function, call, got in REFUSED:
        with subtests.test(f"{function}-{parameter}-{got}"):
            with pytest.raises(ValueError) as refusal:
                call()
            assert str(refusal.value).startswith(f"The {parameter!r} parameter of {function} must be ")
            assert str(refusal.value).endswith(f". Got {got} instead.")
