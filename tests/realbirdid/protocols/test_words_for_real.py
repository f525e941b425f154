"""Birds that are drawn, files on disk, packaged weights, a real server: the same answers on every way."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol
from eyechart.realbirdid.answers.abstention_reasons import CHOICES
from eyechart.realbirdid.data.bird_folder import open_birds
from eyechart.realbirdid.protocols.abstention import Abstention
from eyechart.realbirdid.protocols.free_form import FreeForm
from eyechart.toybox.formats import bird_files

WORDINGS = """
naive = ["What species of bird is in this image?"]
refuse = ["What is the species of this bird? Some images cannot be answered. If unsure, refuse and give the reason."]
"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A table of drawn birds as `eyechart toybox --part birds` writes it."""
    folder = tmp_path_factory.mktemp("birds")
    bird_files.write(folder, 42, 4)
    return open_birds(folder / "drawn", "realbirdid", "toybox")


@dataclass
class Seat:
    """Seats models before the drawn birds."""

    store: Path
    dataset: Dataset

    def __call__(self, model: Any, protocol: str, **more: Any) -> Context:
        runner = Runner(Store(self.store), None, 42, lambda *_: None)
        chosen = {**get_protocol(protocol).defaults(), **{name: str(value) for name, value in more.items()}}
        return Context(runner, model, self.dataset, self.dataset.names, "split", chosen)


@pytest.fixture
def seat(tmp_path: Path, drawn: Dataset) -> Seat:
    return Seat(tmp_path / "store", drawn)


@pytest.fixture(scope="module")
def toybox(one_thread: None) -> Any:
    """The packaged model."""
    return create_model(parse_spec("hf[toybox-mllm,batch_size=4]"), device="cpu", offline=True)


def test_the_packaged_model_names_drawn_birds(seat: Seat, toybox: Any) -> None:
    found = FreeForm().predict(seat(toybox, "free_form"))
    answerable = found.observations.answerable
    assert found.correct[answerable].mean() > 0.5
    assert not found.errors
    read = FreeForm().predict(seat(toybox, "free_form", extraction="inclusion"))
    assert read.completions == found.completions


def test_the_packaged_model_declines_where_it_is_told_to(seat: Seat, toybox: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(WORDINGS)
    found = Abstention().predict(seat(toybox, "abstention", prompt_set=path, extraction="inclusion"))
    naive, refuse = found.abstained.sum(axis=1).tolist()
    assert naive < refuse
    chosen = Abstention().predict(seat(toybox, "abstention", prompt_set=path))
    assert chosen.completions == found.completions
    assert {*chosen.choice_indices[chosen.parsed].tolist()} <= {*range(len(CHOICES))}


def test_a_stopped_extraction_ends_as_if_it_had_not(seat: Seat, toybox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from eyechart.inference.engines import local
    from eyechart.realbirdid.protocols.helpers import extraction

    monkeypatch.setattr(local, "CHUNK", 1)
    texts = [f"a bird, or {number} of them" for number in range(10)]
    context, best, calls = seat(toybox, "free_form"), toybox.best, []

    def breaking(*asked: Any) -> Any:
        calls.append(asked)
        if len(calls) == 2:
            raise ConnectionResetError("stopped")
        return best(*asked)

    with monkeypatch.context() as patched:
        patched.setattr(toybox, "best", breaking)
        with pytest.raises(ConnectionResetError):
            extraction.request_choices(context, texts, CHOICES)
    found, _ = extraction.request_choices(context, texts, CHOICES)
    whole, _ = extraction.request_choices(
        Seat(seat.store.with_name("other"), seat.dataset)(toybox, "free_form"), texts, CHOICES
    )
    assert (found, len(calls)) == (whole, 2)


def test_a_server_answers_in_words_and_then_by_a_schema(
    seat: Seat, asking: Callable[..., Any], faulty_server: Any
) -> None:
    name = seat.dataset.names[0]
    faulty_server.answer = lambda asked: "Hard to say" if asked.pictures else json.dumps({"answer": name})
    found = FreeForm().predict(seat(asking(), "free_form"))
    rows = range(len(seat.dataset))
    assert ({found.extracted_name(row) for row in rows}, found.requests) == ({name}, len(rows) + 1)
    (schema,) = (asked.body["response_format"] for asked in faulty_server.asked if not asked.pictures)
    assert {*seat.dataset.names} < {*schema["json_schema"]["schema"]["properties"]["answer"]["enum"]}
