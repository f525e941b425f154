"""Words about pairs that were said elsewhere are read and scored under the same division."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eyechart.classification.protocols.replay import Replay
from eyechart.errors import ModelError, SpecError
from eyechart.models.registry import capabilities
from eyechart.models.spec import parse_spec
from eyechart.oodbench.answers.yes_no_answers import read_replayed_pairs
from eyechart.oodbench.protocols.existence import Existence
from eyechart.protocol.registry import get_protocol, protocol_modules
from eyechart.statistics.yes_no import MISSING

HEAD = "key,category,question,answer"
Ask = Callable[..., Any]


@pytest.fixture
def replayed(pair_world: Any, tmp_path: Path) -> Ask:
    """Ask a file with these lines."""

    def replayed(*lines: str, **more: Any) -> Any:
        path = tmp_path / "said.csv"
        path.write_text("\n".join(lines), encoding="utf-8")
        model = Replay(parse_spec(f"replay[path={path},of=existence]"))
        return Existence().predict(pair_world.sit(model, **more))

    return replayed


def every(world: Any, say: Callable[[str, int, int], str], by: Callable[[int], str] = str) -> list[str]:
    """A line for every question that there could be."""
    kinds = {"positive": "existence", "negative": "existence_not"}
    where = [(row, k) for row in range(len(world.counts)) for k in range(len(world.names))]
    return [f"s{row:02d},{by(k)},{side},{say(kind, row, k)}" for row, k in where for side, kind in kinds.items()]


def truth(world: Any) -> Callable[[str, int, int], str]:
    return lambda kind, row, k: str(world.tell(kind, row, k, 0))


def test_words_of_a_file_are_scored_under_the_same_division(replayed: Ask, pair_world: Any) -> None:
    asked = Existence().predict(pair_world.sit(pair_world.talker()))
    found = replayed(HEAD, *every(pair_world, truth(pair_world)))
    assert found.answers.tolist() == asked.answers.tolist()
    assert (found.division.rows.tolist(), found.variant) == (asked.division.rows.tolist(), asked.variant)
    assert all(took.fresh == 0 and took.answers == 4 for took in found.timings.values())


def test_categories_may_be_named(replayed: Ask, pair_world: Any) -> None:
    named = every(pair_world, truth(pair_world), lambda k: f'"{pair_world.names[k].upper()}"')
    assert (replayed(HEAD, *named).answers >= 0).all()


def test_words_are_read_as_was_chosen(replayed: Ask, pair_world: Any) -> None:
    lines = every(pair_world, lambda *_: "Yes indeed")
    assert (replayed(HEAD, *lines).answers == 1).all()
    assert (replayed(HEAD, *lines, parser="strict").answers == -1).all()


def test_images_may_be_called_by_their_files(replayed: Ask, pair_world: Any) -> None:
    lines = [f"{line[1:3]}.png{line[3:]}" for line in every(pair_world, truth(pair_world))]
    assert (replayed(HEAD, *lines).answers >= 0).all()


def test_one_file_has_the_answers_to_several_splits(replayed: Ask, pair_world: Any) -> None:
    here = every(pair_world, truth(pair_world))
    there = [f"another,gone,0,{line.split(',')[2]},no" for line in here[:4]]
    lines = [f"{pair_world.dataset().split},{line}" for line in here]
    assert replayed("split," + HEAD, *there, *lines).answers.tolist() == replayed(HEAD, *here).answers.tolist()


def test_a_line_of_no_split_is_about_the_one_that_is_asked(replayed: Ask, pair_world: Any) -> None:
    with pytest.raises(ModelError, match=r"line 2: .* has no image 'gone'"):
        replayed("split," + HEAD, ",gone,0,positive,no")


def test_a_missing_question_is_an_error_of_its_pair(replayed: Ask, pair_world: Any) -> None:
    lines = [line for line in every(pair_world, truth(pair_world)) if not line.startswith("s01,2,negative")]
    found = replayed(HEAD, *lines)
    (index,) = found.errors
    assert found.answers[index].tolist() == [MISSING, MISSING]
    assert "has no answer to the negative question about s01, great {white} shark. Add a line" in found.errors[index]


def test_what_a_case_wrote_is_such_a_file(replayed: Ask, pair_world: Any) -> None:
    head = "key,target,prediction,correct,subset,error,pair,category,category_name,main,present,question,response"
    rows = [line.split(",") for line in every(pair_world, truth(pair_world))]
    lines = [f"{key},yes,,1,ID,{'lost' * (key == 's01')},0,{k},name,1,1,{side},{said}" for key, k, side, said in rows]
    found = replayed(head, *lines)
    assert {*found.errors.values()} == {"lost"}
    assert (found.answers[found.division.rows[found.indices] != 1] >= 0).all()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("s99,0,positive,yes", r"line 2: .* has no image 's99'\. Its first is 's00'"),
        ("s00,5,positive,yes", r"line 2: .* has no category '5'\. Expected a name or an index below 5"),
        ("s00,hippo,positive,yes", "has no category 'hippo'"),
        ("s00,0,maybe,yes", r"there is no question 'maybe'\. Expected positive or negative"),
        ("s00", "has no category ''"),
        (
            "s00,0,positive,yes\ns00,cat,positive,no",
            r"line 3: the positive question about s00, cat is answered twice",
        ),
    ],
)
def test_a_line_about_nothing_is_refused(replayed: Ask, line: str, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        replayed(HEAD, line)


def test_a_pair_of_two_sets_may_stand_there_twice(replayed: Ask, pair_world: Any) -> None:
    lines = every(pair_world, truth(pair_world))
    assert replayed(HEAD, *lines, *lines).errors == {}


@pytest.mark.parametrize("head", ["key,answer", "key,category,question", "", "category,question,answer"])
def test_a_file_without_the_columns_is_refused(replayed: Ask, head: str) -> None:
    with pytest.raises(ModelError, match=r"has the columns .* Expected a csv with the columns key, category, question"):
        replayed(head, "s00,0,positive,yes")


def test_a_file_that_is_no_text_is_refused(pair_world: Any, tmp_path: Path) -> None:
    (tmp_path / "said.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="cannot be read"):
        read_replayed_pairs(tmp_path / "said.csv", pair_world.dataset(), pair_world.names)


def test_images_that_are_not_in_play_are_passed_over(pair_world: Any, tmp_path: Path) -> None:
    (tmp_path / "said.csv").write_text(f"{HEAD}\ns00,0,positive,no\ns05,0,positive,yes", encoding="utf-8")
    words = read_replayed_pairs(tmp_path / "said.csv", pair_world.dataset(rows=(4, 5)), pair_world.names)
    assert words(1, 0, "positive").text == "yes"
    assert words(0, 0, "positive").error


def test_a_file_name_that_two_images_have_names_neither(pair_world: Any, tmp_path: Path) -> None:
    dataset = pair_world.dataset()
    twins = tuple(type(row)(row.key, "same.png", row.sha256) for row in dataset.index)
    (tmp_path / "said.csv").write_text(f"{HEAD}\nsame.png,0,positive,no", encoding="utf-8")
    with pytest.raises(ModelError, match=r"has no image 'same\.png'"):
        read_replayed_pairs(tmp_path / "said.csv", replace(dataset, index=twins), pair_world.names)


def test_such_a_file_is_a_model_for_existence_alone(tmp_path: Path) -> None:
    offered = capabilities(parse_spec("replay[path=said.csv,of=existence]"))
    assert [name for name in protocol_modules() if get_protocol(name).supports(offered)] == ["existence"]
    (tmp_path / "said.csv").touch()
    with pytest.raises(SpecError, match=r"of=existance is none of .*, existence"):
        Replay(parse_spec(f"replay[path={tmp_path / 'said.csv'},of=existance]"))


@pytest.mark.parametrize("lines", [(), ("another,gone,0,positive,no",)])
def test_a_file_about_no_image_of_the_split_is_refused(replayed: Ask, lines: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match=r"has no answer about an image of imagenet/memory\. Give a file with lines"):
        replayed("split," + HEAD, *lines)
