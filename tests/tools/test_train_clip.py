"""The trainer of toybox-clip, on a few classes for a step or two."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from eyechart.data.labels.class_names import load_class_names
from eyechart.models.runtime.torchvision_repair import repair

repair()
from eyechart.toybox.art.styles import TRAINING  # noqa: E402
from toybox import train_clip, training  # noqa: E402
from toybox.augment import pictures  # noqa: E402
from toybox.muon import orthogonal  # noqa: E402
from toybox.sprites import sprites  # noqa: E402
from toybox.train_clip import Training  # noqa: E402
from toybox.training import Plan  # noqa: E402
from toybox.words import CONTEXT  # noqa: E402

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.deep]
FEW = (0, 2, 40, 80)
SHORT = Plan(seed=3, steps=2, batch=8, workers=0, classes=FEW)
Train = Callable[..., Training]


@pytest.fixture
def train(tmp_path: Path) -> Train:
    """Train in a folder, from its last checkpoint."""

    def run(name: str, **changes: int) -> Training:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        training = Training(folder, replace(SHORT, **changes))
        training.run()
        return training

    return run


def test_a_step_lowers_the_loss_of_its_batch(train: Train) -> None:
    training = train("once", stop=1)
    _, batch = training.data()[1, 0.5]
    before = training.loss(batch)
    training.plan = SHORT
    training.run()
    training.step = 1  # whose captions these are
    assert training.loss(batch) < before


def test_a_run_that_was_stopped_ends_as_one_that_was_not(train: Train) -> None:
    whole = train("whole")
    train("parts", stop=1)
    parts = train("parts")
    assert len(parts.losses) == 2
    assert parts.losses == whole.losses
    expected, found = whole.model.state_dict(), parts.model.state_dict()
    assert [key for key in expected if not torch.equal(expected[key], found[key])] == []
    weights = "open_clip_model.safetensors"
    assert (parts.folder / weights).read_bytes() == (whole.folder / weights).read_bytes()


def test_the_command_trains_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = partial(replace, SHORT)
    monkeypatch.setattr(
        training, "Plan", lambda *asked: few(**dict(zip(("seed", "minutes", "steps"), asked, strict=True)))
    )
    train_clip.main([str(tmp_path / "out"), "--minutes", "0.001", "--threads", "1"])
    state = torch.load(tmp_path / "out" / Training.state, weights_only=True)
    assert state["step"] >= 1
    assert 0 <= state["done"] <= 1


@pytest.mark.parametrize("amount", [0.0, 1.0])
def test_pictures_are_those_of_their_seed(amount: float) -> None:
    art = sprites(TRAINING, FEW)
    one, same, other = (pictures(art, seed, 6, 48, amount) for seed in (5, 5, 6))
    assert torch.equal(one.pixels, same.pixels)
    assert not torch.equal(one.pixels, other.pixels)
    assert one.pixels.shape == (6, 3, 48, 48)
    assert one.pixels.abs().max() <= 1
    assert {*one.labels.tolist()} <= {*FEW}


def test_no_held_out_art_is_looked_at() -> None:
    assert len(SHORT.art().labels) == sum(len(sprites((style,), FEW).labels) for style in TRAINING)
    assert {*TRAINING} == {"google", "twitter", "fluent-flat"}


@pytest.mark.parametrize("shape", [(8, 20), (20, 8)], ids=str)
def test_muon_makes_steps_nearly_orthogonal(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonal(matrix))
    assert values.min() > 0.5
    assert values.max() < 1.4


def test_the_tokenizer_reads_and_gives_back_imagenets_names(train: Train) -> None:
    tokenizer = train("tokens", stop=0).tokenizer
    for vocabulary in ("openai", "wordnet"):
        texts = [f"a bad photo of a {name}." for name in load_class_names(vocabulary).names]
        rows = tokenizer(texts)
        assert rows.shape == (1000, CONTEXT)
        read = tokenizer.tokenizer.batch_decode(rows, skip_special_tokens=True)
        assert [text.strip() for text in read] == [text.lower() for text in texts]
