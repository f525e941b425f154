"""Replay: answers by index, by name, ranked, as scores; what names no class is unread, what is missing an error."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.metrics.class_estimates import top5
from eyechart.classification.protocols.replay import Replay
from eyechart.data.dataset.dataset import Dataset, build_label_set
from eyechart.errors import EyechartError, ModelError, SpecError, VocabularyError
from eyechart.models.spec import parse_spec

NAMES = ("cat", "Tiger shark", "dog")
Answer = Callable[..., ClassPredictions]


@pytest.fixture
def split(pictures: Callable[..., Dataset]) -> Dataset:
    return pictures([0, 1, 2])


@pytest.fixture
def replay(tmp_path: Path) -> Callable[[str | bytes], Replay]:
    """A model of a file's content."""

    def make(content: str | bytes, name: str = "answers.csv") -> Replay:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return Replay(parse_spec(f"replay[path={tmp_path / name}]"))

    return make


@pytest.fixture
def answer(replay: Callable[..., Replay], split: Dataset) -> Answer:
    """The predictions that a csv with these lines gives."""

    def answer(*lines: str, names: tuple[str, ...] = NAMES) -> ClassPredictions:
        return replay("\n".join(lines)).predictions(split, names)

    return answer


@pytest.fixture
def scored(tmp_path: Path, split: Dataset) -> Answer:
    """The predictions that an .npz with these arrays gives."""

    def scored(**arrays: Any) -> ClassPredictions:
        np.savez(tmp_path / "answers.npz", **arrays)
        return Replay(parse_spec(f"replay[{tmp_path / 'answers.npz'}]")).predictions(split, NAMES)

    return scored


def best(found: ClassPredictions) -> list[int]:
    return [int(index) for index in found.top[:, 0]]


def test_answers_are_read_by_index(answer: Answer) -> None:
    assert best(answer("key,answer", "s02,2", "s00,0", "s01,1")) == [0, 1, 2]
    assert best(answer("key,answer", "s02,2.0", "s00,0.0", "s01,")) == [0, -1, 2]  # as pandas writes gaps


def test_answers_are_read_by_name_whatever_the_case(answer: Answer) -> None:
    assert best(answer("key,answer", "s00, CAT ", "s01,tiger shark", "s02,Dog")) == [0, 1, 2]


def test_answers_are_found_by_file_name(answer: Answer) -> None:
    assert best(answer("key,answer", "00.png,2", "01.png,1", "s02,0")) == [2, 1, 0]


def test_ranked_answers_keep_their_order(answer: Answer) -> None:
    found = answer("key,answer,answer2,answer3", "s00,dog,0,1", "s01,1,,", "s02,no idea,dog,dog")
    assert found.top.tolist() == [[2, 0, 1, -1, -1], [1, -1, -1, -1, -1], [2, -1, -1, -1, -1]]


def test_fewer_than_five_ranks_count_in_acc5_with_a_note(
    replay: Callable[..., Replay], pictures: Callable[..., Dataset]
) -> None:
    truth = [4, 1, 2]
    split = pictures(truth, classes=5)
    lines = "key,answer,answer2,answer3,answer4", "s00,a,b,c,e", "s01,a,c,,", "s02,c,,,"
    found = replay("\n".join(lines)).predictions(split, ("a", "b", "c", "d", "e"))
    labels = build_label_set("original", split.index, [[label] for label in truth], "exclude", "here")
    found = replace(found, targets=Targets((labels,), np.array(truth), classes=5))
    (estimate, *_) = top5(found)
    assert (estimate.value, estimate.n) == (2 / 3, 3)
    assert [*found.notes()] == ["3 of 3 answers have fewer than five ranks: acc5 counts those that are there."]
    one = replay("key,answer\ns00,a\ns01,a\ns02,c").predictions(split, ("a", "b", "c", "d", "e"))
    one = replace(one, targets=found.targets)
    assert [*top5(one)] == []
    assert [*one.notes()] == ["3 of 3 answers name one class: acc5 needs several ranked classes."]


def test_what_names_no_class_is_unread(answer: Answer) -> None:
    found = answer("key,answer", "s00,a fine cat", "s01,3", "s02,")
    assert (found.unparsed, found.errors) == (frozenset({0, 1, 2}), {})
    assert best(found) == [-1, -1, -1]


@pytest.mark.parametrize("said", ["caterpillar", "ca", "-1", "1.5", "1.00", "²", "cat dog", "A"])
def test_nothing_is_guessed(answer: Answer, said: str) -> None:
    assert 0 in answer("key,answer", f"s00,{said}", "s01,1").unparsed


def test_a_sample_without_an_answer_is_an_error(answer: Answer) -> None:
    found = answer("key,answer", "s00,0", "s02,2")
    assert [*found.errors] == [1]
    assert "answers.csv has no answer for s01. Add a line with this key." in found.errors[1]


def test_names_that_are_numbers_are_names_beyond_the_indices(answer: Answer) -> None:
    assert best(answer("key,answer", "s00,1984", "s01,1", "s02,2001", names=("1984", "x", "2001"))) == [0, 1, 2]


def test_names_that_are_other_indices_are_told_from_them_by_all_answers(answer: Answer) -> None:
    names = ("1", "2", "3")
    assert best(answer("key,answer", "s00,1", "s01,2", "s02,3", names=names)) == [0, 1, 2]
    assert best(answer("key,answer", "s00,0", "s01,1", "s02,2", names=names)) == [0, 1, 2]
    with pytest.raises(VocabularyError, match="'1' is the name of class 0 and the index of another class"):
        answer("key,answer", "s00,1", "s01,1", "s02,2", names=names)


def test_a_file_of_excel_pandas_and_windows(answer: Answer) -> None:
    found = answer("Key, Answer,", ".\\s00,2.0,", '"s01 ",0.0,', ",,", "s02,,", names=NAMES)
    assert (best(found), found.unparsed) == ([2, 0, -1], frozenset({2}))
    with pytest.raises(ModelError, match=r"has semicolons between its columns, and no commas\. Expected a csv"):
        answer("key;answer", "s00;1")


def test_a_byte_order_mark_and_other_columns_are_no_matter(answer: Answer) -> None:
    assert best(answer("\ufeffkey,model,answer,seconds", "s00,gpt,1,2.5", "s01,gpt,1,2.5", "s02,gpt,1,2.5")) == [
        1,
        1,
        1,
    ]


def test_scores_are_taken_as_they_are(scored: Answer) -> None:
    found = scored(keys=np.array(["s02", "s01", "s00"]), scores=np.array([[0, 1, 2], [2, 1, 0], [0, 3, 0.0]]))
    assert found.top[:, :3].tolist() == [[1, 0, 2], [0, 1, 2], [2, 1, 0]]
    assert found.best_classes.scores[:, :3].tolist() == [[3, 0, 0], [2, 1, 0], [2, 1, 0]]


def test_scores_are_ranked_in_their_own_precision(scored: Answer) -> None:
    found = scored(keys=np.array(["s00", "s01", "s02"]), scores=np.array([[1, 1 + 1e-12, 0], [1, 0, 0], [0, 1, 0.0]]))
    assert best(found) == [1, 0, 1]
    whole = scored(keys=np.array(["s00", "s01", "s02"]), scores=np.array([[2**24, 2**24 + 1, 0]] * 3))
    assert best(whole) == [1, 1, 1]


def test_scores_that_are_no_numbers_are_errors(scored: Answer) -> None:
    found = scored(keys=np.array(["s00", "s01", "s02"]), scores=np.array([[0, 1, np.nan], [1, 0, 0], [np.nan] * 3]))
    assert [*found.errors] == [0, 2]
    assert "has NaN among the scores of s00" in found.errors[0]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            ("id,answer", "s00,0"),
            r"has the columns id, answer\. Expected a csv with the columns key and answer",
        ),
        (('{"s00": 0}',), r"is JSON\. Expected a csv"),
        (("key,answer,answer", "s00,0,1"), r"has two columns 'answer': rename"),
        (("key,answer", "s00,cat, dog"), r"line 2 has 3 cells, expected 2, as the header: put cells with commas into"),
        (("key,answer", "s00,1", "s01,2", "s02,3"), r"has the class indices 1 to 3, expected 0 to 2: subtract 1"),
        (("key,said", "s00,0"), r"has the columns key, said\. Expected a csv"),
        ((), r"has the columns none\. Expected a csv"),
        (("key,answer", "s00,0", "s01,1", "s00,2"), r"answers\.csv, line 4: the image s00 comes a second time"),
        (("key,answer", "s00,0", "00.png,1"), r"answers\.csv, line 3: the image 00\.png comes a second time"),
        (
            ("key,answer", "s00,0", "x,0", "y,1"),
            r"line 3: imagenet/memory has no image 'x', and 1 more.* first is 's00'",
        ),
        (("key,answer",), r"answers\.csv has no answer about an image of imagenet/memory\. Give a file with lines"),
        (("split,key,answer", "val,x,0"), r"a column split, if there is one, says memory"),
    ],
)
def test_a_csv_that_does_not_fit_is_refused(answer: Answer, lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        answer(*lines)


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (("key,answer", "s00,0", 's01,"1', "s02,2"), 3),
        (("key,answer", 's00,"a\nb"', 's01,"1', "s02,2"), 4),
        (("key,answer", 's00,"the "cat" here"', "s01,1"), 2),
        (('key,"answer', "s00,0"), 1),
    ],
)
def test_quotes_that_do_not_close_are_named_with_their_line(answer: Answer, lines: tuple[str, ...], line: int) -> None:
    with pytest.raises(
        ModelError, match=rf"answers\.csv, line {line}: the row that begins there is no csv \(.*\): close"
    ):
        answer(*lines)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"keys": ["s00"]}, r"answers\.npz holds keys\. Expected"),
        ({"keys": ["s00"], "scores": [[1, 2]]}, r"scores have shape \(1, 2\), expected \(1, 3\): one row a key"),
        ({"keys": ["s00", "s00"], "scores": np.eye(2, 3)}, r"row 1 of keys: the image s00 comes a second"),
        ({"keys": ["s00", "x"], "scores": np.eye(2, 3)}, r"row 1 of keys: imagenet/memory has no image 'x'"),
        ({"keys": np.array([{}], object), "scores": np.eye(1, 3)}, r"cannot be read \(Object arrays cannot be loaded"),
    ],
)
def test_scores_that_do_not_fit_are_refused(scored: Answer, arrays: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        scored(**arrays)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.npz", b"no zip", r" cannot be read \(.*\)\. Expected a csv"),
        ("a.npz", b"", r" cannot be read \(.*\)\. Expected a csv"),
        ("a.csv", b"key,answer\n\xff,1", r", line 2 is not UTF-8: it has the byte 0xff\. Save it as UTF-8 text"),
        ("a.parquet", b"PAR1\0", r" is a parquet file, which is not read here: save it as csv"),
    ],
)
def test_a_broken_file_is_named(
    replay: Callable[..., Replay], split: Dataset, name: str, content: bytes, sentence: str
) -> None:
    with pytest.raises(ModelError, match=rf"{name}{sentence}"):
        replay(content, name).predictions(split, NAMES)


def test_equal_names_are_refused_where_an_answer_is_a_name(answer: Answer) -> None:
    twins = ("cat", "dog", "Cat")
    assert best(answer("key,answer", "s00,0", "s01,1", "s02,2", names=twins)) == [0, 1, 2]
    with pytest.raises(VocabularyError, match=r"0 .* 2 "):
        answer("key,answer", "s00,cat", names=twins)


def test_the_file_is_the_model(replay: Callable[..., Replay]) -> None:
    one, other = replay("key,answer\ns00,0").identity, replay("key,answer\ns00,1").identity
    assert one.weights_sha256 != other.weights_sha256
    assert (one.backend, one.name) == ("replay", "answers")


@pytest.mark.parametrize(
    ("spec", "kind", "sentence"),
    [
        ("replay[path=absent.csv]", ModelError, r"there is no file absent\.csv\. Expected"),
        ("replay[pth=absent.csv]", SpecError, "did you mean path"),
    ],
)
def test_a_file_that_is_not_there_is_named(spec: str, kind: type[EyechartError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        Replay(parse_spec(spec))


@pytest.fixture
def words(tmp_path: Path, split: Dataset) -> Callable[..., list[str]]:
    """What a csv with these lines says of each image as the words of a language model; an error in brackets."""

    def words(*lines: str, of: str = "closed_world") -> list[str]:
        (tmp_path / "said.csv").write_text("\n".join(lines), encoding="utf-8")
        model = Replay(parse_spec(f"replay[path={tmp_path / 'said.csv'},of={of}]"))
        return [reply.text or f"({reply.error})" for reply in model.responses(split)]

    return words


def test_words_stay_words(words: Callable[..., list[str]]) -> None:
    assert words("key,answer", "s01,a cat?", '02.png,"2, or so"', "s00,I don't know") == [
        "I don't know",
        "a cat?",
        "2, or so",
    ]


def test_words_about_birds_are_read_as_others_are(words: Callable[..., list[str]]) -> None:
    found = words("key,answer", "s00,a gull", "02.png,I cannot tell: it is blurred", of="free_form")
    assert found[::2] == ["a gull", "I cannot tell: it is blurred"]
    assert "has no answer for s01. Add a line" in found[1]


def test_one_file_has_the_words_about_several_splits(words: Callable[..., list[str]]) -> None:
    lines = ("split,key,answer", "memory,s00,cat", "val,s00,dog", ",s01,fish", "memory,s02,a bird")
    assert words(*lines) == ["cat", "fish", "a bird"]


@pytest.mark.parametrize("of", ["closed_world", "open_world", "mcq", "free_form"])
def test_words_about_images_of_other_data_are_refused(words: Callable[..., list[str]], of: str) -> None:
    with pytest.raises(ModelError, match=r"said\.csv, line 3: imagenet/memory has no image 's9'\. Its first is 's00'"):
        words("key,answer", "s00,cat", "s9,dog", of=of)


def test_words_that_are_missing_are_an_error(words: Callable[..., list[str]]) -> None:
    assert "has no answer for s02. Add a line" in words("key,answer", "s01,cat", "s00,dog")[2]


def test_words_of_no_protocol_are_refused(words: Callable[..., list[str]]) -> None:
    with pytest.raises(SpecError, match="of=zero_shot is none of closed_world, existence, free_form"):
        words("key,answer", of="zero_shot")
