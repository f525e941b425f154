"""The posterior over names and the likeliest of them: what is asked, what comes of it, who cannot tell."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.classification.metrics.class_estimates import answer_log_probability
from eyechart.classification.protocols.closed_world import ClosedWorld
from eyechart.classification.protocols.posterior import Posterior
from eyechart.errors import ModelError, SpecError
from eyechart.models.choices.trie import ExhaustiveScorer
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats, Identity, Request, Until
from eyechart.protocol.registry import get_protocol
from tests.classification.class_answers import found

NAMES = ("cat", "dog", "great white shark")
TABLE = [[-1, -2, -3], [-2, -1, -3], [-9, -4, -4]]  # by the picture's number


SURE = Identity(
    backend="test", name="sure", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)


@dataclass
class Sure(ExhaustiveScorer):
    """Knows by the picture's number how likely each of its choices is; numbers above the table make NaN."""

    asked: list[tuple[Sequence[Request], Sequence[str]]] = field(default_factory=list)
    structured: bool = False
    batch_size: int = 2
    loads: int = 0
    identity: Identity = SURE

    def generate(self, *_: Any) -> Any:
        raise AssertionError("nobody asks it to talk")

    def score(self, requests: Sequence[Request], choices: Sequence[str], *, until: Until = "end") -> Floats:
        self.asked.append((requests, choices))
        numbers = [int(np.asarray(request.images[0])[0, 0, 0]) for request in requests]
        rows = [TABLE[number][: len(choices)] if number < 3 else [np.nan] * len(choices) for number in numbers]
        return np.array(rows, np.float32)


def test_every_name_is_a_choice_as_the_whole_answer(sit: Any) -> None:
    model = Sure()
    said = Posterior().predict(sit(model, [0, 1, 2], "posterior"))
    assert said.scores.tolist() == TABLE
    assert said.top[:, :3].tolist() == [[0, 1, 2], [1, 0, 2], [1, 2, 0]]
    for requests, choices in model.asked:
        assert [json.loads(choice) for choice in choices] == [{"1": name} for name in NAMES]
        for request in requests:
            image, text = request.parts
            assert isinstance(image, Image.Image)
            assert "class names:\ncat\ndog\ngreat white shark. Your output" in text
    assert [len(requests) for requests, _ in model.asked] == [2, 1]
    assert (said.texts, said.variant["parser_version"]) == (None, "none")


def test_under_a_plain_prompt_the_names_are_the_answers(sit: Any) -> None:
    model = Sure()
    Posterior().predict(sit(model, [0], "posterior", prompt="closed_world"))
    assert model.asked[0][1] == NAMES


def test_the_posterior_is_kept(sit: Any) -> None:
    first, second, other = Sure(), Sure(), Sure()
    Posterior().predict(sit(first, [0, 1], "posterior"))
    assert found(Posterior().predict(sit(second, [0, 1], "posterior"))) == [0, 1]
    Posterior().predict(sit(other, [0, 1], "posterior", names=("cat", "hound", "great white shark")))
    assert (len(second.asked), len(other.asked)) == (0, 1)


def test_a_number_that_is_none_is_an_error_of_its_image(sit: Any) -> None:
    said = Posterior().predict(sit(Sure(), [0, 0, 0, 0], "posterior"))
    assert (found(said), [*said.errors]) == ([0, 1, 1, -1], [3])
    assert "answered with NaN or infinity" in said.errors[3]
    assert np.isnan(said.scores[3]).all()


def test_a_split_of_broken_images_is_all_errors(sit: Any) -> None:
    for protocol, ask in (("posterior", Posterior().predict), ("closed_world", ClosedWorld().predict)):
        context = sit(Sure(), [0, 0], protocol, broken=frozenset({0, 1}), answer="constrained")
        said = ask(context)
        assert (found(said), [*said.errors]) == ([-1, -1], [0, 1])


def test_classes_out_of_the_split_are_ruled_out(sit: Any) -> None:
    model = Sure()
    said = Posterior().predict(sit(model, [0, 1], "posterior", subset=(0, 2)))
    assert said.scores.tolist() == [[-1, -np.inf, -2], [-2, -np.inf, -1]]
    assert (found(said), len(model.asked[0][1])) == ([0, 2], 2)


def test_its_numbers_are_those_of_a_ranking(sit: Any) -> None:
    context = sit(Sure(), [0, 0, 2], "posterior")
    numbers = sit.metrics(context, Posterior().predict(context), sit.truth([(0,), (0,), (2,)]))
    assert (numbers["acc1", "all"].value, numbers["acc1", "all"].n) == (pytest.approx(1 / 3), 3)
    assert {name for name, _ in numbers} == {"acc1", "mean_per_class_recall"}  # three classes have no five best


@pytest.mark.parametrize("protocol", ["closed_world", "closed_world_plus"])
def test_the_likeliest_name_is_never_out_of_the_prompt(sit: Any, protocol: str) -> None:
    model = Sure()
    context = sit(model, [0, 1, 2, 0], protocol, answer="constrained", names=NAMES)
    said: Any = get_protocol(protocol).predict(context)
    assert found(said) == said.top[:, 0].tolist() == [0, 1, 1, -1]
    assert said.texts.completions == ("cat", "dog", "dog", "")
    assert (said.texts.out_of_prompt, [*said.errors], said.unparsed) == (("",) * 4, [3], frozenset())
    numbers = sit.metrics(context, said, sit.truth([(0,), (1,), (2,), (0,)]))
    assert (numbers["oop", "all"].value, numbers["oop", "all"].n) == (0, 3)
    assert (numbers["acc1", "all"].value, numbers["acc1_strict", "all"].value) == (pytest.approx(2 / 3),) * 2
    assert "acc5" not in {name for name, _ in numbers}


@pytest.mark.parametrize("protocol", ["closed_world", "closed_world_plus"])
def test_the_likeliest_name_has_its_log_probability(sit: Any, sample_table: Any, protocol: str) -> None:
    context = sit(Sure(), [0, 1, 2, 0], protocol, answer="constrained", names=NAMES)
    said: Any = get_protocol(protocol).predict(context)
    numbers = sit.metrics(context, said, sit.truth([(0,), (1,), (2,), (0,)]), answer_log_probability)
    mean = numbers["answer_log_prob", "all"]
    assert (mean.value, mean.n, mean.higher_is_better) == ((-1 - 1 - 4) / 3, 3, None)
    assert [row["log_probability"] for row in sample_table(protocol, said)] == ["-1", "-1", "-4", ""]


def test_a_split_of_broken_images_has_no_log_probability(sit: Any) -> None:
    context = sit(Sure(), [0, 0], broken=frozenset({0, 1}), answer="constrained")
    (mean,) = answer_log_probability(ClosedWorld().predict(context))
    assert (mean.value, mean.n, mean.interval) == (None, 0, None)


def test_answers_without_log_probabilities_have_no_number(sit: Any) -> None:
    context = sit(Sure(), [0, 1], "posterior")
    assert [*answer_log_probability(Posterior().predict(context))] == []


def test_the_likeliest_name_is_one_of_the_split(sit: Any) -> None:
    said = ClosedWorld().predict(sit(Sure(), [0, 1], answer="constrained", subset=(0, 2)))
    assert (found(said), said.texts.completions) == ([0, 2], ("cat", "great white shark"))


@pytest.mark.parametrize(("prompt_order", "last"), [("image-first", "text"), ("text-first", "image")])
def test_the_likeliest_name_is_asked_in_the_layout_that_was_chosen(sit: Any, prompt_order: str, last: str) -> None:
    model = Sure()
    ClosedWorld().predict(sit(model, [0], answer="constrained", prompt_order=prompt_order))
    ((request, *_), _), *_ = model.asked
    assert isinstance(request.parts[-1], str) == (last == "text")


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        (
            {"images_per_request": 5},
            r"constrained needs one image per request, not 5\. Use --eye-set=closed_world\.images_per_request=1",
        ),
        (
            {"epochs": 3},
            r"constrained computes the same answers in every epoch\. Use --eye-set=closed_world\.epochs=1",
        ),
    ],
)
def test_what_the_likeliest_name_cannot_do_is_refused(sit: Any, choices: dict[str, int], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        ClosedWorld().predict(sit(Sure(), [0], answer="constrained", **choices))


def test_a_model_that_cannot_tell_is_a_sentence(sit: Any, talker: Any) -> None:
    model = talker(lambda *_: "cat")
    with pytest.raises(ModelError, match=r"talker has no log-probabilities of given answers\. Use hf\[…\]"):
        ClosedWorld().predict(sit(model, [0], answer="constrained"))
    assert model.how == []


def test_a_server_that_cannot_tell_says_why_and_is_not_asked(sit: Any) -> None:
    model = create_model(parse_spec("openai[toy,base_url=http://127.0.0.1:9/v1]"))
    sentence = r"no log-probabilities of given answers: its API returns those of the likeliest .* Use hf\[…\]"
    with pytest.raises(ModelError, match=sentence):
        ClosedWorld().predict(sit(model, [0], answer="constrained"))
