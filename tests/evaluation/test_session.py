"""Tests of `eyechart.evaluation.session`."""

import pytest

from eyechart.data.dataset.dataset import Dataset, Row, build_original_labels
from eyechart.data.index.file_index import whole_file_source
from eyechart.errors import DataError
from eyechart.evaluation import session
from eyechart.evaluation.session import _check_label_names, make_engine
from eyechart.evaluation.settings import Settings
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.engines.pools import PoolEngine


@pytest.fixture
def dataset() -> Dataset:
    """One image of own data."""
    index = (Row("0", "0.png", "0" * 64, 0),)
    labels = {"original": build_original_labels("pets", index, [(0,)], "test")}
    return Dataset("pets", "test", index, whole_file_source(()), 2, label_sets=labels)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["original"], "pets/test has a label set 'original' already, its own."),
        (["Better", "Better"], "pets/test has a label set 'Better' already, from another file."),
        (["single_label"], "'single_label' is the name of a subset (Images with a single label), so that a metric of"),
    ],
    ids=str,
)
def test_a_label_file_needs_a_name_of_its_own(dataset: Dataset, names: list[str], reason: str) -> None:
    with pytest.raises(DataError) as refused:
        _check_label_names(dataset, names)
    assert str(refused.value).startswith(f"--eye-labels={names[0]}=FILE: {reason}")
    assert str(refused.value).endswith("Give the file another name.")


@pytest.mark.parametrize(
    ("devices", "gpus", "expected"), [(0, False, LocalEngine), (0, True, PoolEngine), (2, False, PoolEngine)]
)
def test_a_model_answers_in_this_process_without_a_gpu_and_a_chosen_number(
    monkeypatch: pytest.MonkeyPatch, devices: int, gpus: bool, expected: type
) -> None:
    monkeypatch.setattr(session, "may_have_gpus", lambda: gpus)
    engine = make_engine(Settings(devices=devices))
    assert type(engine) is expected
    engine.close()


def test_another_name_is_accepted(dataset: Dataset) -> None:
    _check_label_names(dataset, ["Better", "Best"])
