"""The trainer of toybox-mllm's third stage, for two steps."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from eyechart.models.runtime.torchvision_repair import repair

repair()
from eyechart.models.packaged import packaged_folder  # noqa: E402
from eyechart.models.spec import parse_spec  # noqa: E402
from toybox import train_mllm_further  # noqa: E402
from toybox.lessons import Lesson, sequences  # noqa: E402
from toybox.pieces import Reader  # noqa: E402
from toybox.questions import PictureContent, QAPair  # noqa: E402
from toybox.speech import text_states  # noqa: E402
from toybox.train_mllm_further import EMBEDDINGS, FOLDER, WEIGHTS, Further, FurtherLessons  # noqa: E402
from toybox.training import Plan  # noqa: E402

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.deep]
SHORT = Plan(seed=3, steps=2, batch=6, workers=0, classes=(0, 2, 40, 80))
FORGOTTEN = 40
Train = Callable[..., Path]


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged model without the last pieces of its tokenizer."""
    packaged = packaged_folder(parse_spec("hf[toybox-mllm]"))
    assert packaged
    folder = Path(copytree(packaged, tmp_path_factory.mktemp("former") / "model"))
    tokenizer, tensors = json.loads((folder / "tokenizer.json").read_text("utf-8")), load_file(folder / WEIGHTS)
    tokenizer["model"]["vocab"] = tokenizer["model"]["vocab"][:-FORGOTTEN]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    save_file({**tensors, EMBEDDINGS: tensors[EMBEDDINGS][:-FORGOTTEN].contiguous()}, folder / WEIGHTS)
    return folder


@pytest.fixture(scope="module")
def train(former: Path) -> Train:
    """Train further in a copy of the model, from the copy's last checkpoint."""

    def run(name: str, **changes: Any) -> Path:
        copy = former.parent / name
        if not copy.exists():
            copytree(former, copy)
        train_mllm_further.train(copy, replace(SHORT, **changes))
        return copy / FOLDER

    return run


@pytest.fixture(scope="module")
def whole(train: Train) -> Path:
    return train("whole")


def test_the_words_go_on_and_the_eyes_stay(former: Path, whole: Path) -> None:
    before, after = load_file(former / WEIGHTS), load_file(whole / WEIGHTS)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert {name.split(".")[1] for name in changed} == {"language_model"}
    assert all(torch.isfinite(value).all() for value in after.values())


def test_a_piece_keeps_what_was_learnt_of_it_and_a_new_one_begins_at_random(former: Path, tmp_path: Path) -> None:
    copy = Path(copytree(former, tmp_path / "copy"))
    train_mllm_further.train(copy, replace(SHORT, stop=0))
    old, new = Reader(copy).pieces, Reader(copy / FOLDER).pieces
    before, after = (load_file(folder / WEIGHTS)[EMBEDDINGS] for folder in (copy, copy / FOLDER))
    assert len(new) >= len(old) + FORGOTTEN
    torch.testing.assert_close(after[[new[piece] for piece in old]], before[list(old.values())], atol=0, rtol=0)
    fresh = after[[number for piece, number in new.items() if piece not in old]].float()
    assert 0.04 < fresh.std() < 0.06


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"holds no model.safetensors. Train it first"):
        train_mllm_further.main([str(tmp_path), "--steps", "1"])


def test_a_step_has_pictures_birds_texts_and_long_lists(whole: Path) -> None:
    lessons = FurtherLessons(replace(SHORT, batch=24), whole)
    done, (drawn, found) = lessons[(5, 0.25)]
    assert done == 0.25
    indices = torch.cat([some.pictures for some in found])
    assert {*indices.tolist()} <= {*range(len(drawn.pixels))}
    assert len(drawn.pixels) > len(drawn.labels)
    assert any((some.own < 0).any() for some in found)
    asked = train_mllm_further.ask_from_thousand(PictureContent((3,)), random.Random(6))
    assert asked
    assert len(lessons.reader.read(asked.prompt)) > 1000


def test_a_list_alone_is_seen_as_with_a_mask(whole: Path) -> None:
    further = Further(whole.parent, replace(SHORT, steps=4))
    pair = [Lesson((), (QAPair("cat\ndog", "cat"), QAPair("Which is it?", "dog"))), Lesson((), (QAPair("cat", "dog"),))]
    masked, plain = (sequences(further.reader, lessons)[0] for lessons in (pair, pair[1:]))
    assert (masked.single, plain.single) == (False, True)
    nothing = torch.zeros(0, 36, 192)
    with torch.no_grad():
        first, second = (text_states(further.text, further.reader, nothing, some)[-1] for some in (masked, plain))
    row = int((masked.blocks.max(1).values == 1).nonzero()[0])
    torch.testing.assert_close(first[row, : plain.tokens.shape[1]], second[0], atol=0.05, rtol=0.05)
