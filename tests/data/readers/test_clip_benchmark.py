"""CLIP_benchmark's data sets: their names, the templates that travel with them, several labels an image."""

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import average_precision_score

import eyechart
from eyechart.data.readers.clip_benchmark import VTAB_PLUS
from eyechart.data.readers.webdataset_shards import open_shards
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import VocabularyError
from eyechart.models.types import Floats
from tests.data.readers.clip_benchmark_folders import CLASSES, Colours, write


def test_every_data_set_of_vtab_plus_is_named() -> None:
    refs = [ref for ref in list_splits("hub:clip-benchmark/vtab+", offline=True) if ref.location.startswith("hf://")]
    assert len(refs) == len(VTAB_PLUS) == 36
    indices = {str(ref): ref.location for ref in refs}
    assert indices["wds_vtab-pets/test"] == "hf://datasets/clip-benchmark/wds_vtab-pets/test"
    (train,) = [ref for ref in list_splits("hub:clip-benchmark/wds_cars:train") if ref.benchmark == "wds_cars"]
    assert train.location == "hf://datasets/clip-benchmark/wds_cars/train"


def test_another_number_of_images_than_was_published_is_noted(tmp_path: Path) -> None:
    write(tmp_path / "wds_cars", [0, 1, 2])
    write(tmp_path / "mine", [0, 1, 2])
    splits = {str(ref): open_split(ref) for ref in list_splits(tmp_path) if ref.location}
    (note,) = splits["wds_cars/test"].notes
    assert note.startswith("wds_cars/test has 3 images, not the 8,041 of arXiv 2212.07143")
    assert splits["mine/test"].notes == ()


def test_templates_travel_with_the_data(tmp_path: Path) -> None:
    write(tmp_path / "mine", [0, 1, 2], "a photo of a {c}.\na drawing of {}.\n")
    model = Colours()
    run = eyechart.evaluate(
        model, "mine/test", name="colours", data_root=str(tmp_path), protocol="zero_shot", store=tmp_path / "store",
        out=tmp_path / "out", progress=False,
    )  # fmt: skip
    expected = [text.format(c=name) for name in CLASSES for text in ("a photo of a {c}.", "a drawing of {c}.")]
    assert sorted(model.texts) == sorted(expected)
    (record,) = json.loads((run.folders[0] / "records.json").read_text())["records"]
    assert record["variant"]["templates"].startswith("data (")


def test_templates_of_the_user_take_precedence(tmp_path: Path) -> None:
    write(tmp_path / "mine", [0, 1, 2], "a photo of a {c}.\n")
    model = Colours()
    eyechart.evaluate(
        model, "mine/test", name="colours", data_root=str(tmp_path), protocol="zero_shot", store=tmp_path / "store",
        out=tmp_path / "out", templates="name", progress=False,
    )  # fmt: skip
    assert sorted(model.texts) == sorted(CLASSES)


def test_a_template_without_a_place_for_the_name_is_refused(tmp_path: Path) -> None:
    split = write(tmp_path / "mine", [0, 1, 2], "a photo\n")
    with pytest.raises(VocabularyError, match=r"zeroshot_classification_templates.txt, line 1 is 'a photo'"):
        open_shards(split, "mine", "test")


def test_images_with_several_labels_have_the_mean_average_precision(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    labels = (random.random((40, 3)) < 0.5).astype(int)
    write(tmp_path / "mine", labels.tolist())
    model = Colours()
    run = eyechart.evaluate(
        model, "mine/test", name="colours", data_root=str(tmp_path), protocol="zero_shot", store=tmp_path / "store",
        out=tmp_path / "out", progress=False,
    )  # fmt: skip
    dataset = open_shards(tmp_path / "mine" / "test", "mine", "test")
    images = [model.prepare(Image.open(BytesIO(data))) for _, data in dataset.read(range(len(dataset)))]
    scores = unit(model.encode_images(images)) @ unit(model.encode_texts(CLASSES)).T
    assert not labels.any(axis=1).all()  # an image of no class is a wrong one for each
    expected = np.mean([average_precision_score(labels[:, k], scores[:, k]) for k in range(3)])
    (metric,) = [row for row in run.metrics.to_dict("records") if row["metric"] == "mean_average_precision"]
    assert metric["value"] == pytest.approx(expected, abs=1e-6)
    assert metric["low"] < metric["value"] < metric["high"]
    assert metric["n"] == len(labels)


def unit(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
