"""Label categories: by the number of an image's labels and whether the original label is one of them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_booleans, check_integers, check_length

ALL = "all"
NO_LABEL = "no_label"
SINGLE_LABEL = "single_label"
SINGLE_LABEL_ORIGINAL = "single_label_original"
SINGLE_LABEL_OTHER = "single_label_other"
MULTI_LABEL = "multi_label"
MULTI_LABEL_ORIGINAL = "multi_label_original"
MULTI_LABEL_OTHER = "multi_label_other"
FINEST = (NO_LABEL, SINGLE_LABEL_ORIGINAL, SINGLE_LABEL_OTHER, MULTI_LABEL_ORIGINAL, MULTI_LABEL_OTHER)


def label_categories(
    original: ArrayLike, labels: ArrayLike, annotated: ArrayLike, groups: ArrayLike | None = None
) -> dict[str, NDArray[np.bool_]]:
    """Return one mask per category, by the number of labels and their agreement with the original label.

    Args:
        original: (n,) the single label an image came with, -1 for none.
        labels: (n, L) its new labels, padded with -1.
        annotated: (n,) bool, the images that have been looked at again.
        groups: (classes,) the name of each class's equivalence group. With groups, labels of one group count once and
            an original label agrees with any of its group; without, the letter of Table 1 holds.

    Returns:
        For each category of images a (n,) bool mask: `all` (annotated), `no_label`, `single_label`, `multi_label`
        (several), and of the last two those whose labels include the original one (`single_label_original`,
        `multi_label_original`) and the others (`single_label_other`, `multi_label_other`). The source calls these A, N,
        S, M, S+, M+, S- and M-. A = N + S + M, S = S+ + S-, M = M+ + M-, each without overlap.

    Raises:
        ValueError: If the lengths differ or a class has no group.

    Source: arXiv 2603.06578, Table 1; groups as in its authors' scorer.

    >>> masks = label_categories([0, 1, 2], [[0, -1], [2, 3], [-1, -1]], [True, True, True])
    >>> [name for name, mask in masks.items() if mask[0]], [name for name, mask in masks.items() if mask[1]]
    (['all', 'single_label', 'single_label_original'], ['all', 'multi_label', 'multi_label_other'])
    >>> label_categories([1], [[2, 3]], [True], groups=[0, 1, 2, 2])["single_label_other"]
    array([ True])
    """
    table = collapse_groups(labels, groups)
    first = check_integers(
        "label_categories", "original", original, ndim=1, below=None if groups is None else np.size(groups)
    )
    check_length("label_categories", "labels", table, len(first))
    named = first if groups is None else collapse_groups(first[:, None], groups)[:, 0]
    has_annotation = check_booleans("label_categories", "annotated", annotated, len(first))
    agrees = ((table == named[:, None]) & (table >= 0)).any(axis=1)
    return _masks(has_annotation, count_distinct(table), agrees)


def count_distinct(labels: ArrayLike) -> NDArray[np.int64]:
    """Return the number of distinct labels of each image.

    Args:
        labels: (n, L), padded with -1.

    Returns:
        (n,) int64.

    Raises:
        ValueError: If `labels` is not a label array.

    Source: |L| of arXiv 2603.06578, Table 1.

    >>> count_distinct([[4, 4, 2], [-1, 7, -1], [-1, -1, -1]])
    array([2, 1, 0])
    """
    table = np.sort(check_integers("count_distinct", "labels", labels, ndim=2), axis=1)
    new = np.diff(table, axis=1, prepend=-1) > 0
    return np.asarray(new.sum(axis=1), dtype=np.int64)


def collapse_groups(labels: ArrayLike, groups: ArrayLike | None) -> NDArray[np.int64]:
    """Replace each label by the number of its equivalence group.

    Args:
        labels: (n, L), padded with -1.
        groups: (classes,), or None to leave the labels as they are.

    Returns:
        (n, L) int64, still padded with -1.

    Raises:
        ValueError: If a label has no group.

    Source: own definition, for `label_categories`.

    >>> collapse_groups([[3, 0], [2, -1]], groups=[0, 1, 2, 2])
    array([[ 2,  0],
           [ 2, -1]])
    """
    if groups is None:
        return check_integers("collapse_groups", "labels", labels, ndim=2)
    names = check_integers("collapse_groups", "groups", groups, ndim=1, least=0)
    table = check_integers("collapse_groups", "labels", labels, ndim=2, below=len(names))
    named: NDArray[np.int64] = np.append(names, -1)[table]  # the last index is what -1 finds
    return named


def _masks(
    annotated: NDArray[np.bool_], count: NDArray[np.int64], agrees: NDArray[np.bool_]
) -> dict[str, NDArray[np.bool_]]:
    none, single, several = annotated & (count == 0), annotated & (count == 1), annotated & (count > 1)
    return {
        ALL: annotated,
        NO_LABEL: none,
        SINGLE_LABEL: single,
        SINGLE_LABEL_ORIGINAL: single & agrees,
        SINGLE_LABEL_OTHER: single & ~agrees,
        MULTI_LABEL: several,
        MULTI_LABEL_ORIGINAL: several & agrees,
        MULTI_LABEL_OTHER: several & ~agrees,
    }
