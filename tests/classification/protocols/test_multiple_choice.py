"""Choosing by letter in the 4-way settings: options are drawn, letters are read and counted."""

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from eyechart.classification.protocols.helpers.text_options import SHORT
from eyechart.classification.protocols.mcq import MillMCQ
from eyechart.classification.protocols.multiple_choice import MultipleChoice
from eyechart.errors import DataError, SpecError
from eyechart.models.types import Answer, Classifier
from eyechart.statistics.clusters import clustered_wilson
from eyechart.statistics.intervals import wilson
from tests.classification.class_answers import choose, found, offered

NAMES = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lynx")


@pytest.mark.parametrize(
    ("protocol", "ask", "classes"), [("mcq", MillMCQ().predict, 1), ("multiple_choice", MultipleChoice().predict, 3)]
)
def test_too_few_classes_are_a_sentence(sit: Any, talker: Any, protocol: str, ask: Any, classes: int) -> None:
    with pytest.raises(DataError, match=r"imagenet/memory: \d options cannot be offered: give 2 to"):
        ask(sit(talker(choose({0: "ant"})), [0], protocol, NAMES[:classes]))


LABELS = [0, 1, 2, 3, 4, 5]  # originals; the second ground truth agrees with half of them, and has none for the last
SECOND: list[tuple[int, ...]] = [(0,), (1, 6), (2,), (7,), (8, 9), ()]
CONFUSED = np.eye(12, dtype=np.int64)[:, ::-1] * 5 + np.eye(12, k=1, dtype=np.int64) * 9 + np.eye(12, dtype=np.int64)


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    np.save(tmp_path / "confused.npy", CONFUSED)
    return tmp_path / "confused.npy"


@pytest.fixture
def choice(sit: Any, letters: Any, matrix: Path) -> Callable[..., Any]:
    """Seat a model for multiple choice over the labels above."""

    def seat(model: Any, setting: str, labels: Any = LABELS, second: Any = SECOND, **choices: Any) -> Any:
        usual = {"setting": setting, "epochs": 2, "distractors": matrix, "get_model": lambda _: letters}
        truths = {"truths": [sit.truth(second)]}
        return sit(model, labels, "multiple_choice", NAMES, **(usual | truths | choices))

    return seat


@pytest.mark.parametrize("setting", SHORT)
def test_every_setting_offers_its_own_right_options(choice: Any, talker: Any, setting: str) -> None:
    model = talker(lambda *_: "A")
    repeated = MultipleChoice().predict(choice(model, setting))
    assert len(repeated.epochs) == 2
    assert len(model.asked) == len({*model.asked}) in (11, 12)  # two draws may be equal, and are asked once
    asked = [number for (number,), _ in model.asked]
    assert asked == sorted(asked)  # all questions about an image come one after another
    for (number,), text in model.asked:
        names = {*offered(text).values()}
        assert len(names) == 4
        assert ("original" not in setting) or NAMES[LABELS[number]] in names
        others = {NAMES[label] for label in SECOND[number] if label != LABELS[number]}
        assert bool(others & names) == ("second" in setting and bool(others))
    variants = {tuple(each.variant.items()) for each in repeated.epochs}
    assert len(variants) == 1
    assert repeated.epochs[0].variant["setting"] == setting


def test_the_original_labels_are_no_second_ground_truth(choice: Any, talker: Any, sit: Any) -> None:
    truths = [sit.original([(label,) for label in LABELS]), sit.truth(SECOND)]
    one, both = talker(lambda *_: "A"), talker(lambda *_: "A")
    MultipleChoice().predict(choice(one, "second+text"))
    MultipleChoice().predict(choice(both, "second+text", truths=truths))
    assert len(one.asked) in (11, 12)
    assert both.asked == []


def test_what_was_taken_for_a_class_distracts_from_it(choice: Any, talker: Any) -> None:
    model = talker(lambda *_: "A")
    MultipleChoice().predict(choice(model, "original+confusion", [0], [(0,)], epochs=3))
    assert all({"ant", "bee", "lynx"} < {*offered(text).values()} for _, text in model.asked)


def test_names_that_are_near_distract(choice: Any, talker: Any) -> None:
    model = talker(lambda *_: "A")
    MultipleChoice().predict(choice(model, "original+text", [0], [(0,)], epochs=3))
    for _, text in model.asked:
        assert {"ant", "cat"} < {*offered(text).values()} < {"ant", "cat", "gnu", "hen", "jay"}


def test_shares_confuse_like_counts(choice: Any, talker: Any, tmp_path: Path) -> None:
    shares = CONFUSED / CONFUSED.sum(axis=1, keepdims=True)
    np.save(tmp_path / "shares.npy", shares)
    (tmp_path / "shares.csv").write_text("\n".join(",".join(map(str, row)) for row in shares.tolist()) + "\n")
    asked = []
    for name in ("confused.npy", "shares.npy", "shares.csv"):
        model = talker(lambda *_: "A")
        MultipleChoice().predict(choice(model, "original+confusion", distractors=tmp_path / name))
        asked.append(model.asked)
    assert asked[0]
    assert asked[1:] == [[], []]  # the same questions: they are answered already


BROKEN: dict[str, Callable[[Path], object]] = {
    "absent.npy": lambda path: None,
    "empty.npy": lambda path: path.write_bytes(b""),
    "text.npy": lambda path: np.save(path, np.array([["a"]])),
    "objects.npy": lambda path: np.save(path, np.array([{}]), allow_pickle=True),
    "small.npy": lambda path: np.save(path, np.eye(3)),
    "negative.npy": lambda path: np.save(path, -np.eye(12)),
    "nan.npy": lambda path: np.save(path, np.full((12, 12), np.nan)),
    "flat.npy": lambda path: np.save(path, np.ones(144)),
    "heads.csv": lambda path: path.write_text("ant,bee\n1,2\n"),
    "ragged.csv": lambda path: path.write_text("1,2\n1\n"),
    "empty.csv": lambda path: path.write_text(""),
    "latin.csv": lambda path: path.write_bytes(b"\xff1,2\n"),
    "long.csv": lambda path: path.write_text('"' + "1" * 200_000),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_matrix_is_a_sentence(choice: Any, talker: Any, tmp_path: Path, name: str) -> None:
    BROKEN[name](tmp_path / name)
    with pytest.raises(DataError, match=rf"The distractors .*{name} .*12 × 12.*true class as row"):
        MultipleChoice().predict(choice(talker(lambda *_: "A"), "original+confusion", distractors=tmp_path / name))


@pytest.mark.parametrize("setting", [setting for setting in SHORT if "second" in setting])
def test_a_second_ground_truth_that_is_not_there_is_a_sentence(choice: Any, talker: Any, setting: str) -> None:
    context = choice(talker(lambda *_: "A"), setting, truths=[])
    with pytest.raises(DataError, match=r"needs a second label set.*original labels only.*--eye-labels=NAME=FILE"):
        MultipleChoice().predict(context)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        (
            {"distractors": "own"},
            r"needs confusions over the 12 classes of imagenet.*multiple_choice\.distractors=",
        ),
        ({"distractors": "sentence[]", "get_model": lambda _: object()}, r"is neither a classifier nor an encoder"),
        (
            {"setting": "original+text", "get_model": lambda _: object()},
            r"multiple_choice\.text_encoder=sentence\[minilm\] encodes no texts",
        ),
        ({"prompt": "closed_world"}, r"multiple_choice\.prompt=closed_world has the slots: class_list"),
    ],
)
def test_what_a_setting_lacks_is_a_sentence(choice: Any, talker: Any, choices: dict[str, Any], sentence: str) -> None:
    model = talker(lambda *_: "A")
    with pytest.raises(SpecError, match=sentence):
        MultipleChoice().predict(choice(model, **({"setting": "original+confusion"} | choices)))
    assert model.how == []


def test_a_classifiers_own_confusions_distract(choice: Any, talker: Any) -> None:
    class Sure(talker, Classifier):
        def prepare(self, image: Any) -> int:
            return int(np.asarray(image)[0, 0, 0])

        def classify(self, images: Any) -> Any:
            return np.eye(12, dtype=np.float32)[[(number + 3) % 12 for number in images]]

    model = talker(lambda *_: "A")
    MultipleChoice().predict(
        choice(model, "original+confusion", distractors="mine[]", get_model=lambda _: Sure(None), epochs=1)
    )
    for (number,), text in model.asked:
        assert NAMES[number + 3] in offered(text).values() or number + 3 in SECOND[number]


def test_options_and_their_order_are_redrawn_in_every_repeat(choice: Any, talker: Any) -> None:
    model = talker(lambda *_: "A")
    MultipleChoice().predict(choice(model, "original+random", epochs=5))
    assert {len({text for numbers, text in model.asked if numbers == (row,)}) for row in range(6)} <= {4, 5}
    again = talker(lambda *_: "A")
    MultipleChoice().predict(choice(again, "original+random", epochs=6))
    assert len(again.asked) == 6


def test_one_repeat_has_wilsons_interval(sit: Any, choice: Any, talker: Any) -> None:
    table = {0: "ant", 1: "bee", 2: "unread", 3: "dog", 4: "eel", 5: "fox"}
    context = choice(talker(choose(table)), "original+random", epochs=1)
    numbers = sit.metrics(context, MultipleChoice().predict(context), sit.truth([(label,) for label in LABELS]))
    mean = numbers["mc_acc", "all"]
    assert (mean.value, mean.n, mean.ci_method) == (pytest.approx(5 / 6), 6, "wilson")
    assert mean.ci == (pytest.approx(wilson(5, 6).low), pytest.approx(wilson(5, 6).high))


def test_thirty_one_repeats_have_students_interval(sit: Any, choice: Any, talker: Any) -> None:
    counts = [0]

    def say(numbers: tuple[int, ...], text: str) -> str:
        counts[0] += 1
        right = choose({row: NAMES[label] for row, label in enumerate(LABELS)})(numbers, text)
        return "unread" if counts[0] % 7 == 0 else right

    context = choice(talker(say), "original+random", epochs=31)
    predictions = MultipleChoice().predict(context)
    numbers = sit.metrics(context, predictions, sit.truth([(label,) for label in LABELS]))
    answered = np.array(
        [label == LABELS[row] for epoch in predictions.epochs for row, label in enumerate(found(epoch))]
    )
    mean, runs = numbers["mc_acc", "all"], answered.reshape(31, 6).mean(axis=1)
    assert 0.8 < answered.mean() < 0.9  # one in seven is unread
    half = t.ppf(0.975, 30) * runs.std(ddof=1) / sqrt(31)
    assert (mean.value, mean.n, mean.ci_method) == (pytest.approx(runs.mean()), 6, "clustered wilson")
    assert mean.ci == pytest.approx(clustered_wilson(answered, np.arange(31 * 6) % 6))
    assert mean.epochs_ci == (pytest.approx(runs.mean() - half), pytest.approx(runs.mean() + half))
    assert {name for name, _ in numbers} == {"mc_acc"}


def test_a_number_that_one_repeat_alone_has_no_interval_over_repeats(sit: Any, choice: Any, talker: Any) -> None:
    first = [True]

    def say(*_: Any) -> str | Answer:
        fresh, first[0] = first[0], False
        return "A" if fresh else Answer("", (), False, error="withheld")

    context = choice(talker(say), "original+random", [0], [(0,)], epochs=3)
    numbers = sit.metrics(context, MultipleChoice().predict(context), sit.truth([(0,)]))
    assert numbers["mc_acc", "all"].ci == pytest.approx(wilson(0, 1))
    assert numbers["mc_acc", "all"].epochs_ci is None


def test_repeats_that_agree_are_as_sure_as_their_images(sit: Any, choice: Any, talker: Any) -> None:
    """Five of six images right in every repeat: the interval is that of six images, and not a point."""
    table = {0: "ant", 1: "bee", 2: "unread", 3: "dog", 4: "eel", 5: "fox"}
    context = choice(talker(choose(table)), "original+random", epochs=31)
    numbers = sit.metrics(context, MultipleChoice().predict(context), sit.truth([(label,) for label in LABELS]))
    mean = numbers["mc_acc", "all"]
    assert mean.ci == pytest.approx(wilson(5, 6))
    assert mean.epochs_ci == pytest.approx((5 / 6, 5 / 6))
