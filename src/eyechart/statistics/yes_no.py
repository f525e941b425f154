"""Yes/no questions: confusion tables and their measures."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_fractions, check_integers, require

YES, NO, UNPARSED, MISSING = 1, 0, -1, -2
MEASURES = ("acc", "f1", "precision", "recall", "mcc")
Floats = NDArray[np.float64]


def confusion_tables(answers: ArrayLike, expected: ArrayLike) -> NDArray[np.int64]:
    """Return the confusion table of each pair, its questions pooled; the positive answer is yes.

    An unparsed answer counts as the wrong one of the two answers, where the authors' code takes it for a no, which is
    right half of the time; what was not answered at all (an error, a question not asked) counts nowhere.

    Args:
        answers: (m, q) of YES, NO, UNPARSED and MISSING, a row a pair and a column a question.
        expected: (m, q) boolean, whether yes is right.

    Returns:
        (m, 4) int64, the number of true positives, false positives, false negatives and true negatives.

    Raises:
        ValueError: If an answer is something else or the shapes differ.

    Source: arXiv 2602.18094, Section 5.2, whose two questions a pair are pooled.

    >>> confusion_tables([[YES, YES], [UNPARSED, UNPARSED], [NO, MISSING]], [[True, False]] * 3)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 0]])
    """
    codes = check_integers("confusion_tables", "answers", answers, ndim=2, least=MISSING)
    require(
        bool((codes <= YES).all()),
        "confusion_tables",
        "answers",
        "1 (yes), 0 (no), -1 (unparsed) or -2 (missing)",
        codes.max(initial=NO),
    )
    right = np.asarray(expected)
    fits = right.shape == codes.shape and (right.dtype.kind == "b" or right.size == 0)
    require(fits, "confusion_tables", "expected", f"a boolean array of shape {codes.shape}", right)
    right = right.astype(np.bool_)
    yes, answered = np.where(codes == UNPARSED, ~right, codes == YES), codes != MISSING
    cells = (yes & right, yes & ~right, ~yes & right, ~yes & ~right)
    return np.stack([(cell & answered).sum(axis=1) for cell in cells], axis=1).astype(np.int64)


def confusion_measures(table: ArrayLike) -> dict[str, Floats]:
    """Return accuracy, F1, precision, recall and Matthews correlation of confusion tables.

    A share of nothing is 0, as scikit-learn has it: precision without an answer yes, recall without a pair where yes is
    right, F1 without either; and Matthews' correlation where one of the four margins is empty (no answer yes at all,
    or no answer no; nothing to say yes to, or no to). An empty table has no measures: all are NaN.

    Args:
        table: (..., 4), not negative: true positives, false positives, false negatives, true negatives.

    Returns:
        For each of MEASURES an array (...): fractions, and Matthews' correlation in [-1, 1].

    Raises:
        ValueError: If there are not four counts or one is negative or no number.

    Source: arXiv 2602.18094, Eq. (16); B. W. Matthews, Biochimica et Biophysica Acta 405 (1975) 442-451.

    >>> {name: round(float(value), 3) for name, value in confusion_measures([6, 1, 2, 7]).items()}
    {'acc': 0.812, 'f1': 0.8, 'precision': 0.857, 'recall': 0.75, 'mcc': 0.63}
    >>> {name: float(value) for name, value in confusion_measures([0, 0, 5, 5]).items()}  # no yes at all
    {'acc': 0.5, 'f1': 0.0, 'precision': 0.0, 'recall': 0.0, 'mcc': 0.0}
    """
    cells = np.asarray(table, dtype=np.float64)
    require(cells.ndim > 0 and cells.shape[-1] == 4, "confusion_measures", "table", "of shape (..., 4)", cells)
    odd = cells[~((cells >= 0) & (cells < np.inf))]
    require(odd.size == 0, "confusion_measures", "table", "counts, 0 or more", odd.flat[0] if odd.size else None)
    tp, fp, fn, tn = np.moveaxis(cells, -1, 0)
    margins = np.sqrt((tp + fp) * (tn + fn)) * np.sqrt((tp + fn) * (tn + fp))
    values = (
        _share(tp + tn, cells.sum(axis=-1)),
        _share(2 * tp, 2 * tp + fp + fn),
        _share(tp, tp + fp),
        _share(tp, tp + fn),
        _share(tp * tn - fp * fn, margins).clip(-1, 1),
    )
    answered = cells.sum(axis=-1) > 0
    return {name: np.where(answered, value, np.nan) for name, value in zip(MEASURES, values, strict=True)}


def derive_measures(accuracy: ArrayLike, recall: ArrayLike) -> dict[str, Floats]:
    """Return the measures that accuracy and recall determine where yes and no are expected equally often.

    A false positive rate outside [0, 1] says that no such answers have this accuracy and this recall; the other values
    mean nothing there. What has no denominator is 0, as in `confusion_measures`.

    Args:
        accuracy: Fractions or NaN, of shapes that broadcast.
        recall: Fractions or NaN, of shapes that broadcast.

    Returns:
        Arrays of the common shape: fpr = 1 - 2 accuracy + recall, the share of wrong answers where no is right;
        precision = recall / (recall + fpr); f1 = 2 recall / (1 + recall + fpr); mcc = (recall - fpr) / √((recall +
        fpr)(2 - recall - fpr)).

    Raises:
        ValueError: If a value is not in [0, 1] or the shapes do not broadcast.

    Source: own, from the definitions; arXiv 2602.18094, Section 5.3, balances yes and no by two opposite questions.

    >>> derived = derive_measures(0.8479, 0.8428)  # its Table 1, first row
    >>> {name: round(float(value), 4) for name, value in derived.items()}
    {'fpr': 0.147, 'precision': 0.8515, 'f1': 0.8471, 'mcc': 0.6958}
    """
    acc, hit = (
        check_fractions("derive_measures", name, values, ndim=np.ndim(values))
        for name, values in (("accuracy", accuracy), ("recall", recall))
    )
    acc, hit = np.broadcast_arrays(acc, hit)
    fpr = 1 - 2 * acc + hit
    yes = hit + fpr
    return {
        "fpr": fpr,
        "precision": _share(hit, yes),
        "f1": _share(2 * hit, 1 + yes),
        "mcc": _share(hit - fpr, np.sqrt((yes * (2 - yes)).clip(min=0))),
    }


def _share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, 0 where the whole is 0."""
    return np.where(np.isnan(whole), np.nan, np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0))
