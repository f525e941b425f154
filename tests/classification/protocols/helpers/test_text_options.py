"""Which options of protocols with answers in words go together, which have no effect, and which values are refused."""

from itertools import product

import pytest

from eyechart.classification.protocols.helpers.text_options import DISTRACTORS, is_valid, unused_options
from eyechart.classification.protocols.mcq import MillMCQ
from eyechart.errors import SpecError
from eyechart.protocol.registry import get_protocol

LIKELIEST = {"parser", "max_tokens", "structured_output", "epochs", "mapping", "text_encoder", "text_templates"}
REPLAYED = {"max_tokens", "structured_output", "epochs", "redraw", "prompt_order"}


@pytest.mark.parametrize(
    ("protocol", "chosen", "unused"),
    [
        ("closed_world", {}, {"image_order"}),
        ("closed_world", {"images_per_request": "5"}, set()),
        ("closed_world_plus", {"answer": "constrained"}, {"image_order", *LIKELIEST}),
        ("open_world", {"mapping": "inclusion"}, {"image_order", "text_encoder", "text_templates"}),
        ("multiple_choice", {"setting": "original+random"}, {"text_encoder", "distractors"}),
        ("multiple_choice", {"setting": "original+second+confusion"}, {"text_encoder"}),
        ("multiple_choice", {"setting": "second+text"}, {"distractors"}),
    ],
)
def test_an_option_without_an_effect_is_found(protocol: str, chosen: dict[str, str], unused: set[str]) -> None:
    options = {**get_protocol(protocol).defaults(), **chosen}
    assert unused_options(options, replayed=False) == unused
    assert unused_options(options, replayed=True) == unused | REPLAYED


def test_letters_of_a_file_are_read_under_the_published_draw_alone() -> None:
    """Another draw would give its letters other classes."""
    options = {"redraw": "1", "parser": "lenient"}
    assert "redraw" in MillMCQ().unused_options(options, replayed=True)
    assert "redraw" not in MillMCQ().unused_options(options, replayed=False)


def test_the_likeliest_name_is_of_one_image() -> None:
    pairs = [*product(("name", "id", "constrained"), ("1", "5"))]
    valid = [(answer, n) for answer, n in pairs if is_valid({"answer": answer, "images_per_request": n})]
    assert valid == [pair for pair in pairs if pair != ("constrained", "5")]


@pytest.mark.parametrize(
    "value", ["own", "./counts.npy", "counts.csv", "timm[resnet50]", "conse[]", "onnx_clip[a]", "mine:Own"]
)
def test_distractors_come_from_a_file_or_a_model(value: str) -> None:

    assert DISTRACTORS.check is not None
    DISTRACTORS.check(value, None)


@pytest.mark.parametrize("value", ["./counts.txt", "sentence[]", "blip2[a]", "replay[a.csv]", "knn[timm[]]"])
def test_distractors_of_a_model_that_predicts_no_class_are_refused(value: str) -> None:
    assert DISTRACTORS.check is not None
    with pytest.raises(SpecError) as refused:
        DISTRACTORS.check(value, None)
    assert str(refused.value) == (
        f"{value} is neither a classifier nor an encoder, nor a csv or npy file. Give one of these."
    )


def test_distractors_of_neither_are_refused() -> None:
    assert DISTRACTORS.check is not None
    with pytest.raises(SpecError, match=r"the backend 'open_clap', which is not known; did you mean open_clip"):
        DISTRACTORS.check("open_clap[x]", None)
