"""Models in memory: what is accepted, what identifies them, and that they are left in the mode that they had."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.in_memory.wrap import InMemory, wrap_model

WEIGHTS = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
IMAGES = [Image.new("RGB", (4, 4), colour) for colour in ((0, 0, 255), (255, 0, 0), (51, 0, 102))]


def mean(image: Image.Image) -> Any:
    """The mean colour of an image, as a tensor (3, 1, 1)."""
    return torch.tensor(np.asarray(image, np.float32).mean(axis=(0, 1)) / 255).reshape(3, 1, 1)


def module(dropout: float = 0.5) -> torch.nn.Sequential:
    """Tells blue from red; its dropout would change answers in training."""
    made = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(dropout), torch.nn.Linear(3, 2, bias=False))
    made[2].weight.data = torch.tensor(WEIGHTS)
    return made


def wrap(model: Any = None, transform: Any = mean, **names: str) -> Any:
    return wrap_model((module() if model is None else model, transform), **names)[1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_module_answers_in_its_precision_and_in_evaluation_mode(dtype: str) -> None:
    made = wrap(module().to(getattr(torch, dtype)))
    with made.evaluating():
        logits = made.classify([made.prepare(image) for image in IMAGES])
    np.testing.assert_allclose(logits, [[1, 0], [0, 1], [0.4, 0.2]], atol=1e-2 if dtype == "bfloat16" else 1e-6)
    assert (logits.dtype, made.identity.dtype, made.identity.device) == (np.float32, dtype, "cpu")


class Whole(torch.nn.Module):
    """Takes bytes and floats: the mean of three pixels' blue and red, as a network that normalises its own input."""

    def forward(self, pixels: Any) -> Any:
        floats = pixels / 255 if pixels.dtype == torch.uint8 else pixels
        return floats.flatten(1)[:, [2, 0]]


class Mixed(torch.nn.Module):
    """Has a weight of whole numbers and one of a half before its layer."""

    def __init__(self) -> None:
        super().__init__()
        self.levels = torch.nn.Parameter(torch.ones(2, 2, dtype=torch.int8), requires_grad=False)
        self.factor = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
        self.layers = module()

    def forward(self, pixels: Any) -> Any:
        return self.layers(pixels)


def exported(count: int) -> Any:
    return torch.export.export(module().eval(), (torch.zeros(count, 3, 1, 1),)).module()


def as_bytes(image: Image.Image) -> Any:
    return (mean(image) * 255).to(torch.uint8)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    ("make", "transform", "batch"),
    [
        (Whole, mean, 64),
        (Whole, as_bytes, 64),
        (Mixed, mean, 64),
        (lambda: torch.jit.freeze(torch.jit.script(module().eval())), mean, 64),
        (lambda: exported(3), mean, 3),
    ],
)
def test_modules_without_plain_weights_answer_as_in_a_plain_loop(make: Any, transform: Any, batch: int) -> None:
    made = wrap(make(), transform)
    with made.evaluating():
        logits = made.classify([made.prepare(image) for image in IMAGES])
    np.testing.assert_allclose(logits, [[1, 0], [0, 1], [0.4, 0.2]], atol=1e-6)
    assert made.batch_size == batch


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_dynamically_quantised_module_is_asked_image_by_image() -> None:
    quantised = torch.ao.quantization.quantize_dynamic(module(), {torch.nn.Linear}, dtype=torch.qint8)
    for each in (quantised, torch.jit.script(quantised.eval())):
        made = wrap(each)
        assert (made.batch_size, made.model_note[:36]) == (1, "The module is quantised dynamically:")
    assert wrap().model_note == ""


@pytest.mark.parametrize(
    ("transform", "sentence"),
    [
        (lambda image: image, r"returned Image\. Expected a tensor \(3, h, w\)"),
        (lambda image: {"pixel_values": mean(image)}, r"returned dict\."),
        (lambda image: torch.zeros(image.size), r"returned Tensor of shape \(4, 4\) and Tensor of shape \(5, 4\)\."),
    ],
)
def test_what_a_transform_returned_is_named(transform: Any, sentence: str) -> None:
    made = wrap(transform=transform)
    with pytest.raises(ModelError, match=sentence):
        made.classify([made.prepare(image) for image in (IMAGES[0], Image.new("RGB", (5, 4)))])


def test_each_part_of_a_module_gets_its_mode_back_also_after_an_error() -> None:
    inner = module().train()
    inner[1].eval()
    made, modes = wrap(inner), []

    def fail() -> None:
        modes.append({part.training for part in inner.modules()})
        raise RuntimeError

    with pytest.raises(RuntimeError), made.evaluating():
        fail()
    assert modes == [{False}]
    assert [part.training for part in inner] == [True, False, True]


def test_weights_architecture_and_transform_are_in_the_identity() -> None:
    trained = module()
    trained[2].weight.data += 1
    shifts = [
        lambda image: mean(image) + 1,
        lambda image: mean(image) - 1,
    ]
    others = [wrap(trained), wrap(module(0.1)), *(wrap(transform=shift) for shift in shifts)]
    keys = [str(made.identity.in_key) for made in (wrap(), *others)]
    assert len({*keys}) == 5
    assert str(wrap().identity.in_key) == keys[0]
    assert " at 0x" not in "".join(keys)


def test_stored_answers_are_used_again_under_the_same_name_alone() -> None:
    assert wrap(identity="mine").owner == wrap(identity="mine").owner != wrap(identity="other").owner
    assert wrap().owner != wrap().owner


def test_the_specification_has_the_class_of_the_module_and_the_name_that_is_given() -> None:
    spec, made = wrap_model((module(), mean), name="colours")
    assert (spec.backend, spec.arguments, spec.name) == ("memory", ("Sequential",), "colours")
    assert isinstance(made, InMemory)
    assert wrap_model(made)[1] is made


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (mean, r"^The model is of the type function\. Give a specification such as open_clip\["),
        (module(), r"^The model is given as \(Sequential\), which is not known\. Give a specification"),
        ((Whole, mean), r"^The model is the class Whole\. Give an object of it: Whole"),
        ((module(), mean, "a"), r"^The model is given as \(Sequential, function, str\), which is not known\."),
    ],
)
def test_other_objects_are_refused_with_what_is_accepted(model: Any, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        wrap_model(model)


def test_an_output_that_is_no_logits_is_refused() -> None:
    made = wrap(torch.nn.Conv2d(3, 2, 1))
    with pytest.raises(
        ModelError, match=r"^memory\[Conv2d\] returned Tensor of shape \(3, 2, 1, 1\)\. Expected logits"
    ):
        made.classify([made.prepare(image) for image in IMAGES])
