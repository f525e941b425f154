"""The session's models: one at a time, each made once while its cases last."""

from types import SimpleNamespace
from weakref import ref

import pytest

from eyechart.errors import ModelError
from eyechart.models.pool import ModelPool
from eyechart.models.spec import parse_spec

pytestmark = pytest.mark.deep


@pytest.fixture
def pool() -> ModelPool:
    return ModelPool(offline=True)


def test_a_model_is_created_once_while_its_cases_last(pool: ModelPool) -> None:
    assert pool[parse_spec("timm[]")] is pool[parse_spec("timm[]")]


def test_a_model_is_closed_before_the_next_takes_its_memory(pool: ModelPool) -> None:
    first = ref(pool[parse_spec("timm[]")])
    with pytest.raises(ModelError, match="no file gone"):
        pool[parse_spec("replay[path=gone]")]
    assert first() is None
    assert pool[parse_spec("timm[]")]


def test_a_model_that_can_be_closed_is_closed_once(pool: ModelPool) -> None:
    closed: list[str] = []
    mine = SimpleNamespace(loads=1, remote_loads=0, close=lambda: closed.append("mine"))
    pool.spec, pool.model = parse_spec("mine[]"), mine
    assert pool[parse_spec("timm[]")]
    pool.close()
    assert closed == ["mine"]


def test_memory_of_a_model_is_freed_before_the_next_is_made(pool: ModelPool, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bool] = []
    first = ref(pool[parse_spec("timm[]")])
    assert first()._module
    monkeypatch.setattr("eyechart.models.pool.empty_cache", lambda: left.append(first() is not None))
    assert pool[parse_spec("open_clip[toybox-clip]")]
    assert left == [False]
    pool.close()
    pool.close()
    assert left == [False]  # the second one read no weights


def test_loads_are_counted_once(pool: ModelPool) -> None:
    model = pool[parse_spec("timm[]")]
    assert pool.new_weight_loads() == 0
    model._module  # noqa: B018
    assert [pool.new_weight_loads(), pool.new_weight_loads()] == [1, 0]


def test_a_lent_model_that_read_its_weights_is_dropped_when_dismissed(pool: ModelPool) -> None:
    lent = pool.get_model("sentence[minilm]")
    pool.release_model("sentence[minilm]")
    assert pool.get_model("sentence[minilm]") is lent  # it takes no memory yet
    lent.encode_texts(["a dog"])
    pool.release_model("sentence[minilm]")
    assert pool.get_model("sentence[minilm]") is not lent


def test_loads_of_models_that_help_are_counted_once(pool: ModelPool) -> None:
    assert pool[parse_spec("timm[]")]
    pool.get_model("sentence[minilm]").encode_texts(["a dog"])
    assert [pool.new_weight_loads(), pool.new_weight_loads()] == [1, 0]
    pool.release_model("sentence[minilm]")
    assert pool.new_weight_loads() == 0
