"""Label categories partition the images, by the letter of Table 1 and up to equivalence."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.statistics.categories import collapse_groups, count_distinct, label_categories
from eyechart.statistics.equivalence import equivalence_groups, expand_labels

CLASSES = 8
PARTS = {
    "all": ("no_label", "single_label", "multi_label"),
    "single_label": ("single_label_original", "single_label_other"),
    "multi_label": ("multi_label_original", "multi_label_other"),
}
NAMES = {"all", *(part for parts in PARTS.values() for part in parts)}
ids = st.integers(-1, CLASSES - 1)
pair_lists = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES - 1)), max_size=5)


@st.composite
def images(draw):
    """(original, labels, annotated) of a few images."""
    n, width = draw(st.integers(0, 8)), draw(st.integers(0, 4))
    return (
        draw(arrays(np.int64, n, elements=ids)),
        draw(arrays(np.int64, (n, width), elements=ids)),
        draw(arrays(np.bool_, n)),
    )


def letter(original, labels, annotated):
    """The categories of one image as Table 1 defines them."""
    labels = set(labels) - {-1}
    if not annotated:
        return set()
    kind = ("no_label", "single_label", "multi_label")[min(len(labels), 2)]
    return {"all", kind} | ({f"{kind}_{'original' if original in labels else 'other'}"} if labels else set())


def found(masks, image):
    return {name for name, mask in masks.items() if mask[image]}


@given(images(), st.none() | pair_lists)
def test_categories_partition_the_images(drawn, pairs) -> None:
    masks = label_categories(*drawn, None if pairs is None else equivalence_groups(pairs, CLASSES))
    assert {*masks} == NAMES
    np.testing.assert_array_equal(masks["all"], drawn[2])
    for whole, parts in PARTS.items():
        np.testing.assert_array_equal(sum(masks[part].astype(int) for part in parts), masks[whole])


@given(images())
def test_without_groups_the_letter_of_table_1_holds(drawn) -> None:
    masks = label_categories(*drawn)
    expected = [letter(*image) for image in zip(*(column.tolist() for column in drawn), strict=True)]
    assert [found(masks, image) for image in range(len(expected))] == expected


@given(images(), pair_lists)
def test_with_groups_the_letter_holds_of_the_groups(drawn, pairs) -> None:
    original, labels, annotated = drawn
    names = [*equivalence_groups(pairs, CLASSES).tolist(), -1]
    masks = label_categories(*drawn, names[:-1])
    for image, row in enumerate(labels.tolist()):
        assert found(masks, image) == letter(names[original[image]], [names[label] for label in row], annotated[image])


@given(images(), pair_lists)
def test_admissible_labels_fall_into_the_same_categories(drawn, pairs) -> None:
    original, labels, annotated = drawn
    names, everything = equivalence_groups(pairs, CLASSES), expand_labels(labels, pairs, CLASSES)
    plain, expanded = (label_categories(original, table, annotated, names) for table in (labels, everything))
    assert all((plain[name] == expanded[name]).all() for name in NAMES)


@given(images(), pair_lists)
def test_equivalence_never_takes_agreement_away(drawn, pairs) -> None:
    strict, lenient = label_categories(*drawn), label_categories(*drawn, equivalence_groups(pairs, CLASSES))
    agree, still = ((masks["single_label_original"] | masks["multi_label_original"]) for masks in (strict, lenient))
    assert not (agree & ~still).any()
    assert (strict["no_label"] == lenient["no_label"]).all()


@given(images(), st.randoms(use_true_random=False))
def test_categories_follow_the_images(drawn, random) -> None:
    order = random.sample(range(len(drawn[0])), len(drawn[0]))
    moved = label_categories(*(column[order] for column in drawn))
    assert all((moved[name] == mask[order]).all() for name, mask in label_categories(*drawn).items())


def test_an_original_without_a_label_disagrees() -> None:
    masks = label_categories([-1, -1, -1], [[2, -1], [2, 3], [-1, -1]], [True] * 3, groups=range(CLASSES))
    assert [found(masks, image) for image in range(3)] == [
        {"all", "single_label", "single_label_other"},
        {"all", "multi_label", "multi_label_other"},
        {"all", "no_label"},
    ]


@given(images(), pair_lists)
def test_distinct_counts_sets_of_groups(drawn, pairs) -> None:
    names = collapse_groups(drawn[1], equivalence_groups(pairs, CLASSES))
    assert count_distinct(names).tolist() == [len(set(row) - {-1}) for row in names.tolist()]
