"""Options: Mill's draw to the letter, and the rules of the eight settings for every image."""

from collections import Counter
from collections.abc import Sequence
from csv import DictReader
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification.protocols.helpers.distractors import (
    Neighbours,
    confusion_matrix,
    rank_by_confusion,
    rank_by_similarity,
)
from eyechart.classification.protocols.mcq import draw_mill_options
from eyechart.classification.protocols.multiple_choice import (
    CLOSED_WORLD,
    LETTERS,
    ORIGINAL,
    SECOND,
    SETTINGS,
    AnswerOptions,
    draw_options,
)

GOLDEN = Path(__file__).parents[3] / "golden"
CLASSES = 12
settings = st.sampled_from(list(SETTINGS))
keys = st.text(max_size=6)
classes = st.integers(0, CLASSES - 1)
originals = st.integers(-1, CLASSES - 1)
labels = st.lists(classes, max_size=4)
seeds = st.integers(0, 99)
matrices = st.integers(0, 9999).map(
    lambda seed: (
        np.random.default_rng(seed).integers(0, 4, (CLASSES, CLASSES)) * np.random.default_rng(seed).integers(2)
    )
)


def near(setting: str, matrix: np.ndarray) -> Neighbours | None:
    return None if SETTINGS[setting].hardness == "random" else rank_by_confusion(matrix)


MILL = {
    ("s0000000", 0): ([0, 225, 747, 921, 110, 857, 237, 868, 125, 54], "A"),
    ("s0000001", 65): ([859, 53, 831, 412, 320, 652, 65, 789, 816, 103], "G"),
    ("s0049999", 999): ([999, 93, 741, 517, 586, 451, 399, 526, 465, 785], "A"),
}


@pytest.mark.parametrize(("sample", "drawn"), MILL.items())
def test_mills_goldens(sample: tuple[str, int], drawn: tuple[list[int], str]) -> None:
    found = draw_mill_options(*sample, 1000)
    assert ([*found.classes], found.letters) == drawn


@given(keys, classes, st.integers(2, CLASSES), seeds)
def test_mill_offers_the_label_once_among_different_classes(key: str, label: int, count: int, seed: int) -> None:
    found = draw_mill_options(key, label, CLASSES, count, seed)
    assert len(found.classes) == len({*found.classes}) == count
    assert {*found.classes} <= {*range(CLASSES)}
    assert found.class_of(found.letters) == label


def test_mills_draw_depends_on_seed_and_key() -> None:
    drawn = {draw_mill_options(key, 5, 1000, seed=seed) for key in "ab" for seed in (42, 43)}
    assert len(drawn) == 4


@pytest.mark.parametrize("count", [0, 1, 13, 27])
def test_more_options_than_classes_or_letters_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="cannot be offered"):
        draw_mill_options("a", 0, 12 if count < 27 else 1000, count)


@pytest.mark.parametrize("label", [-1, 12])
def test_an_image_without_a_class_has_no_options_in_mill(label: int) -> None:
    with pytest.raises(ValueError, match="the classes are 0 to 11"):
        draw_mill_options("a", label, 12)


def expected_right(setting: str, original: int, truth: set[int]) -> set[frozenset[int]]:
    """All admissible right options, spelt out anew."""
    imgt = {original} - {-1}
    regt = (truth - imgt) or imgt  # without any label, or with no other than ImGT, ImGT itself
    if SETTINGS[setting].label_sets == (ORIGINAL,):
        return {frozenset({one}) for one in imgt}
    if SETTINGS[setting].label_sets == (SECOND,):
        return {frozenset({one}) for one in regt}
    return {frozenset({one, other}) for one in imgt for other in regt}


@given(settings, keys, originals, labels, matrices)
def test_the_rules_of_the_settings(setting: str, key: str, original: int, some: list[int], matrix: np.ndarray) -> None:
    found = draw_options(setting, key, original, some, CLASSES, neighbours=near(setting, matrix))
    expected = expected_right(setting, original, {*some})
    if found is None:
        assert expected == set()
        return
    assert frozenset(found.correct) in expected
    assert len(found.classes) == len({*found.classes}) == 4
    assert {*found.classes} & {original, *some} == {*found.correct}


@given(keys, originals, labels, matrices)
def test_hard_distractors_are_the_nearest_admissible(
    key: str, original: int, some: list[int], matrix: np.ndarray
) -> None:
    found = draw_options("ReGT + confEVA(ReGT)", key, original, some, CLASSES, neighbours=rank_by_confusion(matrix))
    if found is not None:
        row = matrix[found.correct[0]]
        fit = [each for each in range(CLASSES) if row[each] > 0 and each not in {original, *some, *found.correct}]
        hardest = sorted(fit, key=lambda each: (-row[each], each))[:3]
        assert {*hardest} <= {*found.classes}


RANKS = np.array([[(row + index) % CLASSES for index in range(1, CLASSES)] for row in range(CLASSES)])
BOTH = "ImGT + ReGT + confEVA(ImGT,ReGT)"


def test_two_truths_share_the_hard_distractors() -> None:
    found = draw_options(BOTH, "a", 2, [2, 6], CLASSES, neighbours=RANKS)
    assert found is not None
    assert ({*found.classes}, found.correct) == ({2, 3, 6, 7}, (2, 6))


def test_two_truths_with_one_neighbour_take_the_next() -> None:
    found = draw_options(BOTH, "a", 2, [1], CLASSES, neighbours=np.where(RANKS == 2, 3, RANKS))
    assert found is not None
    assert {*found.classes} == {1, 2, 3, 4}


def test_two_truths_in_one_class_leave_the_rest_to_chance() -> None:
    drawn = [draw_options(BOTH, "a", 2, [2], CLASSES, neighbours=RANKS, repeat=repeat) for repeat in range(200)]
    seen = Counter(each for found in drawn if found is not None for each in found.classes)
    assert seen[2] == seen[3] == 200
    assert all(20 <= seen[other] <= 70 for other in range(CLASSES) if other not in (2, 3))


@given(settings, keys, classes, labels, matrices)
def test_equivalent_classes_are_no_distractors_when_asked(
    setting: str, key: str, original: int, some: list[int], matrix: np.ndarray
) -> None:
    pairs = {each: [(each + 6) % CLASSES] for each in range(CLASSES)}
    some = some[:2]
    found = draw_options(setting, key, original, some, CLASSES, neighbours=near(setting, matrix), equivalents=pairs)
    assert found is not None
    drawn = {*found.classes} - {*found.correct}
    assert not drawn & {(each + 6) % CLASSES for each in (original, *some)}


@pytest.mark.parametrize("setting", SETTINGS)
def test_equivalent_classes_may_be_distractors_by_the_papers_letter(setting: str) -> None:
    ranks = None if SETTINGS[setting].hardness == "random" else RANKS
    drawn = [draw_options(setting, "a", 2, [2], CLASSES, neighbours=ranks, repeat=repeat) for repeat in range(99)]
    assert any(3 in found.classes for found in drawn if found is not None)


@given(settings, keys, classes, labels, matrices, st.integers(0, 30), seeds)
def test_a_draw_is_a_function_of_seed_setting_key_and_repeat(
    setting: str, key: str, original: int, some: list[int], matrix: np.ndarray, repeat: int, seed: int
) -> None:
    ask = {"neighbours": near(setting, matrix), "repeat": repeat, "seed": seed}
    first = draw_options(setting, key, original, some, CLASSES, **ask)
    padded = [-1, *reversed(some), *some, -1]
    assert draw_options(setting, key, original, padded, CLASSES, **ask) == first


def test_repeats_redraw_order_and_random_distractors() -> None:
    drawn = [draw_options("ImGT + random", "a", 2, [2], 1000, repeat=repeat) for repeat in range(31)]
    assert len({found.classes for found in drawn if found is not None}) == 31
    assert {found.letters for found in drawn if found is not None} == {*"ABCD"}


def test_repeats_keep_the_hard_distractors_and_redraw_their_order() -> None:
    drawn = [
        draw_options("ImGT + confEVA(ImGT)", "a", 2, [2], CLASSES, neighbours=RANKS, repeat=each) for each in range(31)
    ]
    assert {frozenset(found.classes) for found in drawn if found is not None} == {frozenset({2, 3, 4, 5})}
    assert len({found.classes for found in drawn if found is not None}) > 10


def test_every_option_is_equally_likely_and_in_every_place() -> None:
    drawn = [draw_options("ImGT + random", f"s{sample}", 2, [], CLASSES) for sample in range(2200)]
    seen = Counter(index for found in drawn if found is not None for index in enumerate(found.classes))
    assert all(430 <= seen[index, 2] <= 670 for index in range(4))
    assert all(100 <= seen[index, other] <= 205 for index in range(4) for other in range(CLASSES) if other != 2)


def test_the_regt_option_is_drawn_evenly_from_the_labels_other_than_imgt() -> None:
    drawn = [draw_options("ImGT + ReGT + random", "a", 2, [1, 2, 5], CLASSES, repeat=each) for each in range(300)]
    seen = Counter(found.correct for found in drawn if found is not None)
    assert {*seen} == {(2, 1), (2, 5)}
    assert min(seen.values()) > 110


REFUSED = {
    "There is no setting": (CLOSED_WORLD, None, CLASSES, 4),
    "takes neighbours": ("ReGT + confEVA(ReGT)", None, CLASSES, 4),
    "takes no neighbours": ("ImGT + random", RANKS, CLASSES, 4),
    "the classes are 0 to 1": ("ImGT + random", None, 2, 2),
    "3 random distractors are wanted and 2 classes can be": ("ImGT + random", None, 5, 4),
    "give 2 to 12": ("ImGT + random", None, CLASSES, 13),
}


@pytest.mark.parametrize(("message", "asked"), REFUSED.items())
def test_what_cannot_be_drawn_is_refused(message: str, asked: tuple[str, Neighbours | None, int, int]) -> None:
    setting, neighbours, many, count = asked
    with pytest.raises(ValueError, match=message):
        draw_options(setting, "a", 2, [2, 3, 4], many, neighbours=neighbours, count=count)


@given(st.lists(classes, min_size=2, unique=True), st.characters())
def test_a_letter_is_a_place(offered: Sequence[int], letter: str) -> None:
    found = AnswerOptions(tuple(offered), (offered[-1],))
    assert found.class_of(letter) == dict(zip(LETTERS, offered, strict=False)).get(letter, -1)
    assert found.to_text([str(each) for each in range(CLASSES)]).split("\n")[-1] == f"{found.letters}) {offered[-1]}"


@pytest.mark.parametrize("letters", ["", "AB", "a"])
def test_no_single_capital_letter_is_no_option(letters: str) -> None:
    assert AnswerOptions((3, 4), (3,)).class_of(letters) == -1


def table_19() -> list[dict[str, str]]:
    with (GOLDEN / "table_19.csv").open(encoding="utf-8") as file:
        return list(DictReader(file))


def test_the_settings_are_the_rows_of_table_19() -> None:
    assert list(dict.fromkeys(row["options"] for row in table_19())) == [*SETTINGS, CLOSED_WORLD]


@pytest.mark.parametrize(
    "row", [row for row in table_19() if row["options"].startswith("ReGT")], ids=lambda row: row["model"]
)
def test_in_regt_settings_imgt_is_offered_on_s_plus_and_on_images_without_labels_alone(row: dict[str, str]) -> None:
    beyond = 6.25 * float(row["ImGT A"]) - 3.16 * float(row["ReGT S+"])
    assert 0 < beyond <= 33


@given(matrices)
def test_confusions_rank_as_a_plain_sort_does(matrix: np.ndarray) -> None:
    for true, row in enumerate(rank_by_confusion(matrix).tolist()):
        others = [each for each in range(CLASSES) if each != true and matrix[true, each] > 0]
        expected = sorted(others, key=lambda each: (-matrix[true, each], each))
        assert row == expected + [-1] * (CLASSES - 1 - len(expected))


@given(matrices)
def test_similarities_rank_all_others(matrix: np.ndarray) -> None:
    found = rank_by_similarity(matrix.astype(np.float32))
    assert [sorted(row) for row in found.tolist()] == [
        [other for other in range(CLASSES) if other != true] for true in range(CLASSES)
    ]
    assert (np.diff(np.take_along_axis(matrix, found, axis=1)) <= 0).all()


pairs = st.lists(st.tuples(originals, originals), max_size=30)


@given(pairs)
def test_a_confusion_matrix_counts_pairs(seen: list[tuple[int, int]]) -> None:
    true, said = (np.array([pair[side] for pair in seen], np.int64) for side in (0, 1))
    counted, found = Counter(seen), confusion_matrix(true, said, CLASSES)
    assert found.tolist() == [[counted[row, column] for column in range(CLASSES)] for row in range(CLASSES)]


MATRICES = {
    "classes by classes": lambda: rank_by_confusion(np.zeros((2, 3), np.int64)),
    "at least 0": lambda: rank_by_confusion(np.array([[0, -1], [0, 0]])),
    "NaN": lambda: rank_by_similarity(np.full((2, 2), np.nan, np.float32)),
    "do not pair": lambda: confusion_matrix(np.array([0]), np.array([0, 1]), 2),
    "expected -1 to 1": lambda: confusion_matrix(np.array([0]), np.array([2]), 2),
}


@pytest.mark.parametrize(("message", "call"), MATRICES.items())
def test_a_matrix_that_makes_no_sense_is_refused(message: str, call) -> None:
    with pytest.raises(ValueError, match=message):
        call()
