"""What a language model said elsewhere goes through the protocol that it was said under, and through no other."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

pytestmark = pytest.mark.deep

SAID = ("tench", "A goldfish.", "I don't know", "fish")
INCLUSION = ("--eye-set=closed_world_plus.mapping=inclusion", "--eye-set=open_world.mapping=inclusion")


@pytest.fixture
def replayed(world: Any) -> Callable[..., pytest.RunResult]:
    """Run the small split with words about each of its images."""

    def replayed(of: str, *more: str, words: tuple[str, ...] = SAID) -> pytest.RunResult:
        keys = sorted(path.name for path in (world.data / "imagenet/tiny").rglob("*") if path.is_file())
        lines = [f"{key},{said}" for key, said in zip(keys, cycle(words), strict=False)]
        (world.folder / "said.csv").write_text("\n".join(["key,answer", *lines]), encoding="utf-8")
        world.models = (f"replay[path=said.csv,of={of}]",)
        result: pytest.RunResult = world.run("-k", "imagenet/tiny/", *more)
        return result

    return replayed


def test_the_closed_world_and_cw_plus_read_the_same_words(replayed: Callable[..., Any], world: Any) -> None:
    assert replayed("closed_world", *INCLUSION).ret == 0
    plain, plus = world.records
    assert (plain["protocol"], plus["protocol"]) == ("closed_world", "closed_world_plus")
    oop = {metric["name"]: (metric["value"], metric["n"]) for metric in plain["metrics"]}
    assert (oop["oop"], oop["oop_abstain"], oop["oop_wrong"]) == ((8 / 18, 18), (0.5, 8), (0.0, 8))
    assert oop["oop_partial"] == (0.5, 8)  # fish is a word of several class names


def test_words_of_the_open_world_are_no_closed_world(replayed: Callable[..., Any], world: Any) -> None:
    assert replayed("open_world", *INCLUSION).ret == 0
    assert [record["protocol"] for record in world.records] == ["open_world"]


def test_how_a_model_would_be_asked_is_no_case_of_a_file(replayed: Callable[..., Any], world: Any) -> None:
    chosen = ("structured_output=parsed,enforced", "prompt_order=image-first,text-first")
    asked = [f"--eye-set={name}.{each}" for name in ("closed_world", "closed_world_plus") for each in chosen]
    asked += ["--eye-set=closed_world.epochs=1,3"]
    assert replayed("closed_world", *INCLUSION, *asked).ret == 0
    assert [record["protocol"] for record in world.records] == ["closed_world", "closed_world_plus"]


def test_words_about_other_pictures_stop_the_case(replayed: Callable[..., Any], world: Any) -> None:
    replayed("mcq")
    with (world.folder / "said.csv").open("a", encoding="utf-8") as file:
        file.write("\nelsewhere.png,tench")
    said = world.run("-k", "imagenet/tiny/").stdout.str()
    assert "said.csv, line 20: imagenet/tiny has no image 'elsewhere.png'." in said


def test_several_images_a_request_are_refused(replayed: Callable[..., Any]) -> None:
    said = replayed("closed_world", "--eye-set=closed_world.images_per_request=5", *INCLUSION).stdout.str()
    assert "has one answer an image. Use --eye-set=closed_world.images_per_request=1." in said


def test_answers_that_cannot_be_read_are_counted_in_the_terminal(replayed: Callable[..., Any], world: Any) -> None:
    said = replayed("closed_world", *INCLUSION, words=("tench", "")).stdout.str()
    assert "(closed_world): 9 of 18 images got an answer that could not be parsed." in said
    assert {record["outcomes"]["unparsed"] for record in world.records} == {9}
