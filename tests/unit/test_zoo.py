"""The session's models: one at a time, each made once while its cases last."""

from types import SimpleNamespace
from weakref import ref

import pytest

from eyechart.errors import ModelError
from eyechart.fixtures.models import Zoo
from eyechart.spec import parse


@pytest.fixture
def zoo() -> Zoo:
    return Zoo(SimpleNamespace(offline=True), "gw0")


def test_a_model_is_made_once_while_its_cases_last(zoo: Zoo) -> None:
    assert zoo[parse("timm[]")] is zoo[parse("timm[]")]


def test_a_model_is_let_go_before_the_next_takes_its_memory(zoo: Zoo) -> None:
    first = ref(zoo[parse("timm[]")])
    with pytest.raises(ModelError, match="no file gone"):
        zoo[parse("replay[path=gone]")]
    assert first() is None
    assert zoo[parse("timm[]")]


def test_a_model_that_can_be_closed_is_closed_once(zoo: Zoo) -> None:
    closed: list[str] = []
    zoo.spec, zoo.model = parse("mine[]"), SimpleNamespace(close=lambda: closed.append("mine"))
    assert zoo[parse("timm[]")]
    zoo.let_go()
    assert closed == ["mine"]


def test_memory_of_a_model_is_freed_before_the_next_is_made(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bool] = []
    first = ref(zoo[parse("timm[]")])
    monkeypatch.setattr("eyechart.fixtures.models.empty_cache", lambda: left.append(first() is not None))
    assert zoo[parse("open_clip[toybox-clip]")]
    assert left == [False]


def test_loads_are_told_once(zoo: Zoo) -> None:
    model = zoo[parse("timm[]")]
    assert zoo.fresh_loads() == 0
    model._module  # noqa: B018
    assert [zoo.fresh_loads(), zoo.fresh_loads()] == [1, 0]


def test_a_lent_model_that_read_its_weights_is_dropped_when_dismissed(zoo: Zoo) -> None:
    lent = zoo.get_model("sentence[minilm]")
    zoo.release_model("sentence[minilm]")
    assert zoo.get_model("sentence[minilm]") is lent  # it takes no memory yet
    lent.encode_texts(["a dog"])
    zoo.release_model("sentence[minilm]")
    assert zoo.get_model("sentence[minilm]") is not lent


def test_loads_of_models_that_help_are_told_once(zoo: Zoo) -> None:
    assert zoo[parse("timm[]")]
    zoo.get_model("sentence[minilm]").encode_texts(["a dog"])
    assert [zoo.fresh_loads(), zoo.fresh_loads()] == [1, 0]
    zoo.release_model("sentence[minilm]")
    assert zoo.fresh_loads() == 0
