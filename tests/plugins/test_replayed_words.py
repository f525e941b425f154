"""What a language model said elsewhere goes through the protocol that it was said under, and through no other."""

from itertools import cycle
from typing import Any

import pytest

pytestmark = pytest.mark.deep

SAID = ("tench", "A goldfish.", "I don't know", "fish")
INCLUSION = ("--eye-set=closed_world_plus.mapping=inclusion", "--eye-set=open_world.mapping=inclusion")


GAPS = ("tench", "")


def write(world: Any, name: str, words: tuple[str, ...], *more: str) -> None:
    """Write words about each image of the small split."""
    keys = sorted(path.name for path in (world.data / "imagenet/tiny").rglob("*") if path.is_file())
    lines = [f"{key},{said}" for key, said in zip(keys, cycle(words), strict=False)]
    (world.folder / name).write_text("\n".join(["key,answer", *lines, *more]), encoding="utf-8")


def test_each_protocol_reads_the_words_that_were_said_under_it_and_counts_what_it_cannot_read(world: Any) -> None:
    """How a model would be asked makes no further case of a file."""
    write(world, "said.csv", SAID)
    write(world, "gaps.csv", GAPS)
    chosen = ("structured_output=parsed,enforced", "prompt_order=image-first,text-first")
    asked = [f"--eye-set={name}.{each}" for name in ("closed_world", "closed_world_plus") for each in chosen]
    asked += ["--eye-set=closed_world.epochs=1,3"]
    world.models = (
        "closed=replay[path=said.csv,of=closed_world]",
        "open=replay[path=said.csv,of=open_world]",
        "gaps=replay[path=gaps.csv,of=closed_world]",
    )
    said = world.passes("-k", "imagenet/tiny/", *INCLUSION, *asked).stdout.str()
    found = {(record["model"]["alias"], record["protocol"]): record for record in world.records}
    assert len(found) == len(world.records) == 5
    assert {protocol for alias, protocol in found if alias != "open"} == {"closed_world", "closed_world_plus"}
    assert [protocol for alias, protocol in found if alias == "open"] == ["open_world"]
    plain = found["closed", "closed_world"]
    oop = {metric["name"]: (metric["value"], metric["n"]) for metric in plain["metrics"]}
    assert (oop["oop"], oop["oop_abstain"], oop["oop_wrong"]) == ((8 / 18, 18), (0.5, 8), (0.0, 8))
    assert oop["oop_partial"] == (0.5, 8)  # fish is a word of several class names
    assert "(closed_world): 9 of 18 images got an answer that could not be parsed." in said
    assert {record["outcomes"]["unparsed"] for (alias, _), record in found.items() if alias == "gaps"} == {9}


def test_words_about_other_pictures_and_several_images_a_request_stop_the_case(world: Any) -> None:
    write(world, "said.csv", SAID)
    write(world, "other.csv", SAID, "elsewhere.png,tench")
    world.models = ("replay[path=said.csv,of=closed_world]", "replay[path=other.csv,of=mcq]")
    result = world.run("-k", "imagenet/tiny/", "--eye-set=closed_world.images_per_request=5", *INCLUSION)
    said = result.stdout.str()
    assert "other.csv, line 20: imagenet/tiny has no image 'elsewhere.png'." in said
    assert "has one answer an image. Use --eye-set=closed_world.images_per_request=1." in said
