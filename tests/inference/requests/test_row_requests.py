"""Every kind of request: it can be pickled, its fields are in its key, and another process gives the same answers."""

import pickle
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from inspect import isabstract
from pathlib import Path
from runpy import run_path
from typing import Any

import msgspec
import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.inference.engines.interface import ImageAnswers
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests import row_requests, text_requests
from eyechart.inference.requests.row_requests import (
    BaseRequest,
    Classify,
    ClassWeights,
    Encode,
    LogitScale,
    Match,
    ScoreChoices,
)
from eyechart.inference.requests.text_requests import Generate, TextRequest, request_ids
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store, request_key
from eyechart.models.registry import INTERFACES, create_model
from eyechart.models.spec import parse_spec
from eyechart.models.types import Identity, Model
from eyechart.toybox.samples.open_toybox import open_toybox

CLIP, CLASSIFIER, MLLM, MATCHER = "open_clip[toybox-clip]", "timm[batch_size=4]", "hf[toybox-mllm]", "blip2[{folder}]"
SCHEMA = {"type": "object", "properties": {"1": {"type": "string"}}}
LIMIT = 3


def one_of_every_kind() -> Iterator[tuple[str, BaseRequest]]:
    """Yield a request of every kind with the model that answers it."""
    choices = ("a red cup", "a cat")
    yield CLIP, Encode()
    yield CLASSIFIER, Classify()
    yield MATCHER, Match(("a cat", "a dog"))
    yield MLLM, ScoreChoices(None, ("What is this?", 0), choices)
    yield MLLM, ScoreChoices(None, (0, "What is this?"), choices, best=True)
    yield MLLM, ScoreChoices(("It is a cup.", "A cat, I think."), (0,), choices, "unique")
    yield CLIP, Encode(("cat", "a photo of a dog"))
    yield CLIP, ClassWeights(("cat", "dog", "cup"), ("a photo of a {c}.", "{c}"))
    yield CLIP, LogitScale()
    yield (
        MLLM,
        Generate(
            (
                TextRequest((0, "What is this?"), 8),
                TextRequest(("Which image is it, ", 2, "?"), 6, SCHEMA),
                TextRequest((1, 0, "Which is red?"), 8, epoch=1),
                TextRequest(("It is a cup.",), 8, choices),
            )
        ),
    )


REQUESTS = [*one_of_every_kind()]
Kind = type[BaseRequest]


def kinds(parent: type = BaseRequest) -> Iterator[Kind]:
    """Yield the classes of requests that can be created."""
    for kind in parent.__subclasses__():
        yield from kinds(kind)
        if not isabstract(kind) and kind.__module__ in (row_requests.__name__, text_requests.__name__):
            yield kind


def test_every_kind_is_here() -> None:
    assert {type(request) for _, request in REQUESTS} == {*kinds()}


@pytest.fixture(params=range(len(REQUESTS)), ids=lambda number: f"{type(REQUESTS[number][1]).__name__}-{number}")
def request_of(request: Any) -> Any:
    """A request of each kind in turn."""
    return REQUESTS[request.param][1]


def test_every_kind_comes_out_of_a_pickle_with_its_fingerprint(request_of: Any) -> None:
    again = pickle.loads(pickle.dumps(request_of))
    assert (type(again), again, address(again)) == (type(request_of), request_of, address(request_of))


def test_a_pickle_holds_the_fields_alone(request_of: Any) -> None:
    fresh = pickle.dumps(request_of)
    address(request_of)  # computes and keeps what follows from the fields
    assert pickle.dumps(request_of) == fresh


def test_every_field_holds_texts_numbers_and_containers_of_them(request_of: Any) -> None:
    assert all(plain(getattr(request_of, field.name)) for field in fields(request_of))


def plain(value: Any) -> bool:
    """Whether a value consists of texts, numbers and containers of them."""
    if is_dataclass(value) or isinstance(value, msgspec.Struct):
        return all(plain(getattr(value, name)) for name in value.__annotations__)
    if isinstance(value, tuple | list):
        return all(map(plain, value))
    return plain([*value.items()]) if isinstance(value, dict) else value is None or isinstance(value, str | int)


def address(request: Any) -> tuple[str, tuple[Any, ...]]:
    """Where the answers to a request are stored: the fingerprint for the key, and the ids of its requests."""
    if isinstance(request, Generate):
        return request.fingerprint, request_ids(request.requests, ("a", "b", "c", "d"))
    return request.fingerprint, tuple(getattr(request, "ids", ()))


def other_values(value: Any) -> Iterator[Any]:
    """Yield values that differ from a value in one part each."""
    if value is None:
        yield from (1, SCHEMA)
    elif isinstance(value, str):
        yield f"{value}s" if value not in ("end", "unique") else "end" if value == "unique" else "unique"
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1 if value != 1 else 0
    elif isinstance(value, dict):
        yield {**value, "additionalProperties": False}
    elif isinstance(value, tuple):
        yield value[::-1]
        yield value[:-1]
        for at, part in enumerate(value):
            yield from ((*value[:at], other, *value[at + 1 :]) for other in other_values(part))
    elif isinstance(value, TextRequest):
        names = value.__annotations__
        change: Callable[..., Any] = replace if is_dataclass(value) else msgspec.structs.replace
        yield from (change(value, **{name: other}) for name in names for other in other_values(getattr(value, name)))
    else:
        raise AssertionError(f"Say how to change {value!r}.")


def test_every_part_of_every_field_is_in_the_fingerprint_or_the_ids(request_of: Any) -> None:
    for field in fields(request_of):
        value = getattr(request_of, field.name)
        changes = [replace(request_of, **{field.name: other}) for other in other_values(value) if other != value]
        found = [address(changed) for changed in changes if valid(changed)]
        assert found or field.name in ("until", "best")  # the two exclude each other
        assert address(request_of) not in found, field.name


def valid(changed: Any) -> bool:
    """Whether templates have their slots, and numbers of names and prompts are below those that there are."""
    try:
        address(changed)
    except (IndexError, TypeError, ValueError):
        return False
    return True


def test_two_kinds_with_equal_fields_have_different_keys() -> None:
    parts, choices = (0, "What?"), ("a", "b")
    settings: list[dict[str, Any]] = [{}, {"until": "unique"}, {"best": True}]
    keys = [ScoreChoices(items, parts, choices, **some) for items in (None, ("a",)) for some in settings]
    assert len({request.fingerprint for request in (*keys, Generate(()), Encode(), Encode(()), Classify())}) == 10


def test_a_line_break_in_a_text_is_not_the_end_of_the_text() -> None:
    assert Match(("a\nb", "c")).fingerprint != Match(("a", "b\nc")).fingerprint
    assert Match(("a\\nb",)).fingerprint != Match(("a\nb",)).fingerprint
    assert ClassWeights(("a\nb", "c"), ("{c}",)).fingerprint != ClassWeights(("a", "b\nc"), ("{c}",)).fingerprint


def test_a_request_about_images_needs_a_data_set() -> None:
    with pytest.raises(ValueError, match=r"Encode is about images\. Expected a data set\."):
        request_key(Encode(), create_model(parse_spec(CLIP)))


# Another process.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny image–text matcher with random weights."""
    import torch

    torch.manual_seed(0)
    model, processor = run_path(str(Path(__file__).parents[2] / "tiny_pairs.py"))["PARTS"]["blip2"]()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    path = tmp_path_factory.mktemp("models") / "tiny-blip2"
    for part in (model, processor):
        part.save_pretrained(path)
    return path


def run_all(pairs: Sequence[tuple[str, BaseRequest]], root: Path, engine: Any = None) -> None:
    """Answer requests about some packaged images into a store."""
    models: dict[str, Model] = {}
    dataset = open_toybox("sample").subsample(LIMIT, 0)
    runner = Runner(Store(root), LIMIT, 0, lambda *_: None, lambda: engine or LocalEngine())
    for spec, request in pairs:
        model = models.setdefault(spec, create_model(parse_spec(spec), offline=True))
        if not request.about_images:
            runner.run(request, model)
        else:
            runner.run(request, model, dataset)


def contents(root: Path) -> dict[str, bytes]:
    """The files of a store by their paths."""
    paths = (path for path in root.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


ANOTHER = "import pickle, sys, test_row_requests as t; t.run_all(pickle.load(sys.stdin.buffer), t.Path(sys.argv[1]))"


@pytest.mark.deep
def test_another_process_gives_the_same_bytes_for_every_kind(
    folder: Path, tmp_path: Path, warm_python: Sequence[str]
) -> None:
    pairs = [(spec.format(folder=folder), request) for spec, request in REQUESTS]
    run_all(pairs, tmp_path / "here")
    command = [*warm_python, "-c", ANOTHER, str(tmp_path / "there")]
    subprocess.run(command, cwd=Path(__file__).parent, input=pickle.dumps(pairs), check=True)
    here, there = contents(tmp_path / "here"), contents(tmp_path / "there")
    assert here == there
    assert sum(name.endswith("key.json") for name in here) == len(pairs)


# Other engines.


class Backwards(LocalEngine):
    """Answers in the opposite order, with a request that was pickled on the way."""

    def answer_images(
        self, request: BaseRequest, model: Model, dataset: Dataset, indices: Sequence[int]
    ) -> Iterator[ImageAnswers]:
        yield from reversed([*super().answer_images(sent(request), model, dataset, indices)])

    def answer_texts(self, request: BaseRequest, model: Model) -> Any:
        return super().answer_texts(sent(request), model)

    def answer_requests(self, batch: Any, model: Any, dataset: Dataset | None, numbers: Sequence[int]) -> Iterator[Any]:
        yield from reversed([*super().answer_requests(sent(batch), model, dataset, numbers)])


def sent(request: Any) -> Any:
    return pickle.loads(pickle.dumps(request))


def test_the_order_in_which_an_engine_answers_changes_no_byte(tmp_path: Path) -> None:
    pairs = [(spec, request) for spec, request in REQUESTS if isinstance(request, Encode | Generate)]
    run_all(pairs, tmp_path / "here")
    run_all(pairs, tmp_path / "there", Backwards())
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


class Incapable(Model):
    """A model without any capability."""

    @property
    def identity(self) -> Identity:
        found: Identity = create_model(parse_spec(CLIP)).identity
        return found


def first_answer(request: Any, model: Any) -> object:
    """Return what the local engine answers first."""
    engine, dataset = LocalEngine(), open_toybox("sample")
    if request.row_per_image:
        return next(engine.answer_images(request, model, dataset, [0]))
    if isinstance(request, ScoreChoices):
        return next(engine.score_texts(request, model, [0]))
    if isinstance(request, Generate):
        return next(engine.answer_requests(request, model, dataset, [0]))
    return engine.answer_texts(request, model)


def test_a_model_without_the_capability_is_refused(request_of: Any) -> None:
    name = type(request_of).__name__
    with pytest.raises(ModelError, match=f"cannot answer {name}. Expected a model with the capability"):
        first_answer(request_of, Incapable())


def test_every_capability_is_an_interface_of_models() -> None:
    assert {request.capability for _, request in REQUESTS} <= {*INTERFACES}


def test_a_width_that_the_caller_refuses_is_not_stored(tmp_path: Path) -> None:
    def refuse(width: int) -> None:
        raise ModelError(f"{width} values")

    dataset, model = open_toybox("sample").subsample(LIMIT, 0), create_model(parse_spec(CLASSIFIER))
    runner = Runner(Store(tmp_path), None, 0, lambda *_: None)
    with pytest.raises(ModelError, match="1000 values"):
        runner.run(Classify(), model, dataset, refuse)
    assert not [*tmp_path.rglob("*.part")]
    assert np.isfinite(runner.run(Classify(), model, dataset).values).all()
