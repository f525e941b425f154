"""The packaged toybox-clip and its twin: they load by their names, are small and plain, and see."""

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from eyechart.data.images import decode_image
from eyechart.data.labels.class_names import load_class_names, load_templates
from eyechart.errors import SpecError
from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.models.open_clip import files as open_clip_files
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats
from eyechart.statistics.intervals import wilson
from eyechart.toybox.samples.open_toybox import open_toybox, splits
from toybox import score_clip

pytestmark = pytest.mark.deep

NAMES = ("toybox-clip", "toybox-clip-b")
CHANCE = 0.01
LEAST = {"sample": 0.9, "sample-fluent-3d": 0.85, "sample-noto-v1": 0.55, "sample-cutouts": 0.05}
Share = Callable[[str], tuple[int, int]]


@pytest.fixture(scope="module", params=NAMES)
def clip(request: pytest.FixtureRequest) -> OpenClipEncoder:
    return OpenClipEncoder(parse_spec(f"open_clip[{request.param}]"), offline=True)


@pytest.fixture
def folder(clip: OpenClipEncoder) -> Path:
    found = open_clip_files.packaged_checkpoint(clip.spec)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def weights(clip: OpenClipEncoder) -> Floats:
    return class_weights(clip.encode_texts, open_toybox("sample").names, load_templates(clip.templates).formats)


@pytest.fixture(scope="module")
def share(clip: OpenClipEncoder, weights: Floats) -> Share:
    """How many pictures of a split are right, and how many there are."""

    @cache
    def count(split: str) -> tuple[int, int]:
        data = open_toybox(split)
        read = [*data.source.read(range(len(data.index)))]
        features = clip.encode_images([clip.prepare(decode_image(found, str(row))) for row, found in read])
        truths = np.array([data.index[row].label for row, _ in read])
        return int((cosine_similarity(features, weights).argmax(axis=1) == truths).sum()), len(truths)

    return count


@pytest.mark.parametrize("clip", NAMES[:1], indirect=True)
@pytest.mark.parametrize("split", LEAST)
def test_it_sees_in_every_style(share: Share, split: str) -> None:
    if split not in splits():
        pytest.skip("the style's folder was left out of this build")
    low, _ = wilson(*share(split))
    assert low > max(2 * CHANCE, LEAST[split])


@pytest.mark.parametrize("clip", NAMES[:1], indirect=True)
def test_it_sees_worse_in_styles_that_it_has_not_learnt(share: Share) -> None:
    known, near, far = (k / n for k, n in map(share, ("sample", "sample-fluent-3d", "sample-noto-v1")))
    assert known > near > far


def test_its_identity_says_what_answered(clip: OpenClipEncoder, folder: Path) -> None:
    assert clip.identity.name == folder.name
    assert clip.identity.weights_sha256 == sha256((folder / "open_clip_model.safetensors").read_bytes()).hexdigest()


def test_the_two_are_different_models() -> None:
    weights = {
        OpenClipEncoder(parse_spec(f"open_clip[{name}]"), offline=True).identity.weights_sha256 for name in NAMES
    }
    assert len(weights) == len(NAMES)


def test_the_card_gives_the_hashes_of_the_files(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    files = [path for path in folder.iterdir() if path.name != "README.md"]
    assert [path.name for path in files if sha256(path.read_bytes()).hexdigest() not in card] == []


def test_it_is_small_and_holds_no_pickle(folder: Path) -> None:
    found = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sum(found.values()) <= 8_000_000
    assert {name.rpartition(".")[2] for name in found} == {"json", "md", "safetensors"}


def test_open_clip_itself_reads_the_folder(folder: Path) -> None:
    import open_clip

    model, _, prepare = open_clip.create_model_and_transforms(f"local-dir:{folder}", weights_only=True)
    assert sum(value.numel() for value in model.parameters()) < 4_000_000
    assert json.loads((folder / "open_clip_config.json").read_text())["preprocess_cfg"]["mean"] == [0.5] * 3
    tokens = open_clip.get_tokenizer(f"local-dir:{folder}")(["a dog"])
    assert tokens.shape[1] == model.context_length
    assert prepare.transforms[0].size == 96


@pytest.mark.parametrize("clip", NAMES[:1], indirect=True)
@pytest.mark.parametrize("vocabulary", ["openai", "wordnet"])
def test_the_longest_published_prompt_of_a_thousand_names_is_read_whole(clip: OpenClipEncoder, vocabulary: str) -> None:
    longest = max(load_templates("80").formats, key=len)
    rows = clip._tokenizer([longest.replace("{c}", name) for name in load_class_names(vocabulary).names])
    end = int(rows.max())
    assert bool((rows == end).sum(dim=1).eq(1).all())
    assert bool((rows[:, -1] != end).all())
    assert len({tuple(row) for row in rows.tolist()}) == len(
        {name.lower() for name in load_class_names(vocabulary).names}
    )


def test_text_in_any_script_is_read(clip: OpenClipEncoder) -> None:
    features = clip.encode_texts(["собака", "犬", "dog 🐕", ""])
    assert features.shape[0] == 4
    assert np.isfinite(features).all()


def test_a_name_that_is_nearly_its_own_is_told() -> None:
    with pytest.raises(SpecError, match="did you mean toybox-clip"):
        OpenClipEncoder(parse_spec("open_clip[toybox_clip]"))


@pytest.mark.parametrize("clip", NAMES[:1], indirect=True)
def test_its_score_is_told_as_in_the_card(clip: OpenClipEncoder) -> None:
    lines = [*score_clip.table(clip, [("few", [*next(score_clip.fresh_pictures(1))[1][:20]])], ["1"])]
    assert lines[0] == "| pictures | n | templates 1 |"
    assert lines[2].startswith("| few | 20 | ")
