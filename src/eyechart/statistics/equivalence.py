"""Equivalent classes: which answers are admissible for an image."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, eye_array

from eyechart.statistics._checks import check_integers, check_whole_number, require


def equivalence_groups(pairs: ArrayLike, classes: int) -> NDArray[np.int64]:
    """Return for every class the smallest class that it is equivalent to, through any chain of pairs.

    Args:
        pairs: (p, 2) integers in [0, classes).
        classes: How many there are.

    Returns:
        (classes,) int64, the smallest member of each class's group; a class in no pair stands for itself.

    Raises:
        ValueError: If a pair names a class that is not there, or is no pair.

    Source: transitive closure of the equivalence set E of arXiv 2603.06578, Eq. (1).

    >>> equivalence_groups([(3, 1), (4, 3)], classes=6)
    array([0, 1, 2, 1, 1, 5])
    """
    classes = check_whole_number("equivalence_groups", "classes", classes)
    array = _check_pairs("equivalence_groups", pairs, classes)
    # not by scipy.sparse.csgraph, whose import takes a tenth of a second
    before, group = np.zeros(0, np.int64), np.arange(classes, dtype=np.int64)
    while not np.array_equal(before, group):
        before = group.copy()
        smallest = before[array]  # class of the group of each class of a pair, so far
        np.minimum.at(group, smallest, smallest.min(axis=1, keepdims=True))
        group = group[group]
    return group


def expand_labels(labels: ArrayLike, pairs: ArrayLike, classes: int, *, strict: bool = False) -> NDArray[np.int64]:
    """Return each image's labels with all equivalent classes added: the admissible labels L*.

    Args:
        labels: (n, L) integers in [0, classes), padded with -1.
        pairs: (p, 2), in either order.
        classes: How many there are.
        strict: Adds only the classes that stand in a pair with a label, not those reached over a third class.

    Returns:
        (n, L') int64, ascending and unique in each row, padded with -1 at the end to the largest number of labels.

    Raises:
        ValueError: If a label or a pair names a class that is not there.

    Source: arXiv 2603.06578, Eq. (1), which is `strict`; the two agree where no class stands in two pairs.

    >>> expand_labels([[2, -1], [0, 5]], [(0, 1), (1, 2)], classes=6)
    array([[ 0,  1,  2, -1],
           [ 0,  1,  2,  5]])
    >>> expand_labels([[2, -1], [0, 5]], [(0, 1), (1, 2)], classes=6, strict=True)
    array([[ 1,  2, -1],
           [ 0,  1,  5]])
    """
    classes = check_whole_number("expand_labels", "classes", classes)
    table = check_integers("expand_labels", "labels", labels, ndim=2, below=classes)
    array = _check_pairs("expand_labels", pairs, classes)
    if strict:
        graph = coo_array((np.ones(len(array), np.int64), array.T), shape=(classes, classes)).tocsr()
        related = graph + graph.T + eye_array(classes, dtype=np.int64)
    else:
        related = _same_group(equivalence_groups(array, classes))
    return _padded(_one_hot(table, classes) @ related)


def _check_pairs(function: str, pairs: ArrayLike, classes: int) -> NDArray[np.int64]:
    array = np.asarray(pairs)
    array = check_integers(
        function, "pairs", array.reshape(-1, 2) if array.size == 0 else array, ndim=2, below=classes, least=0
    )
    require(array.shape[1] == 2, function, "pairs", "of shape (p, 2)", array)
    return array


def _same_group(group: NDArray[np.int64]) -> csr_array:
    classes = len(group)
    member = csr_array((np.ones(classes, np.int64), (np.arange(classes), group)), shape=(classes, classes))
    return member @ member.T


def _one_hot(table: NDArray[np.int64], classes: int) -> csr_array:
    image, index = np.nonzero(table >= 0)
    return csr_array((np.ones(len(image), np.int64), (image, table[image, index])), shape=(len(table), classes))


def _padded(admissible: csr_array) -> NDArray[np.int64]:
    admissible.sort_indices()
    counts = np.diff(admissible.indptr)
    table = np.full((len(counts), counts.max(initial=0)), -1, np.int64)
    table[np.arange(table.shape[1]) < counts[:, None]] = admissible.indices
    return table
