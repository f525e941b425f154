"""CLIP_benchmark's data sets: their names, the templates that travel with them, several labels an image."""

import csv
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import average_precision_score
from webdataset import TarWriter

import eyechart
from eyechart.cli import main
from eyechart.data.readers.clip_benchmark import VTAB_PLUS
from eyechart.data.readers.webdataset_shards import open_shards
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import VocabularyError
from eyechart.models.types import Encoder, Floats, Identity
from eyechart.results.records import read_run

CLASSES = ("cat", "dog", "emu")


def write(folder: Path, labels: list[Any], templates: str = "") -> Path:
    """Write a split in the layout of clip_benchmark_export_wds."""
    split = folder / "test"
    split.mkdir(parents=True)
    (folder / "classnames.txt").write_text("\n".join(CLASSES) + "\n")
    (folder / "dataset_type.txt").write_text("classification\n")
    if templates:
        (folder / "zeroshot_classification_templates.txt").write_text(templates)
    (split / "nshards.txt").write_text("1\n")
    random = np.random.default_rng(0)
    with TarWriter(str(split / "0.tar")) as tar:
        for number, label in enumerate(labels):
            pixels = random.integers(0, 255, (8, 8, 3)).astype(np.uint8)
            target = {"npy": np.array(label)} if isinstance(label, list) else {"cls": label}
            tar.write({"__key__": f"s{number:07d}", "png": Image.fromarray(pixels), **target})
    return split


class Colours(Encoder):
    """Encodes an image as its mean colour, and a text by its letters."""

    templates = "name"

    def __init__(self) -> None:
        self.texts: list[str] = []

    @property
    def identity(self) -> Identity:
        return Identity(backend="colours", name="colours", weights_sha256="0", dtype="float32", device="cpu",
                        processor={}, libraries={})  # fmt: skip

    def prepare(self, image: Image.Image) -> Floats:
        return np.asarray(image, np.float32).mean(axis=(0, 1)) / 255

    def encode_images(self, images: Any) -> Floats:
        return np.stack(images) - np.float32(0.5)

    def encode_texts(self, texts: Any) -> Floats:
        self.texts += texts
        return np.stack([np.random.default_rng(list(text.encode())).normal(size=3) for text in texts]).astype(
            np.float32
        )


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


def test_results_become_the_table_of_clip_benchmark(tmp_path: Path) -> None:
    write(tmp_path / "wds_vtab-pets", [0, 1, 2, 1])
    run = eyechart.evaluate(
        Colours(), "wds_vtab-pets/test", name="colours", data_root=str(tmp_path), protocol="zero_shot",
        store=tmp_path / "store", out=tmp_path / "out", progress=False,
    )  # fmt: skip
    assert main(["export", "clip-benchmark", str(run.folders[0]), "--out", str(tmp_path / "exported")]) == 0
    (row,) = csv.DictReader((tmp_path / "exported" / "benchmark.csv").read_text().splitlines())
    assert (row["dataset"], row["task"], row["language"]) == ("wds/vtab/pets", "zeroshot_classification", "en")
    assert row["model_fullname"] == f"{row['model']} {row['pretrained']}"
    values = {line["metric"]: line["value"] for line in run.metrics.to_dict("records")}
    assert float(row["acc1"]) == values["acc1"]
    assert float(row["mean_per_class_recall"]) == values["mean_per_class_recall"]
    assert row["mean_average_precision"] == ""


@pytest.fixture
def run_of_pets(tmp_path: Path) -> Path:
    """The folder of a run of one model on one data set."""
    write(tmp_path / "wds_vtab-pets", [0, 1, 2, 1])
    run = eyechart.evaluate(
        Colours(), "wds_vtab-pets/test", name="colours", data_root=str(tmp_path), protocol="zero_shot",
        store=tmp_path / "store", out=tmp_path / "out", progress=False,
    )  # fmt: skip
    return run.folders[0]


def test_published_numbers_stand_beside_those_of_a_run(run_of_pets: Path, tmp_path: Path) -> None:
    """The table that was exported is read back, with another number and with one that is not there."""
    out = tmp_path / "exported"
    assert main(["export", "clip-benchmark", str(run_of_pets), "--out", str(out)]) == 0
    (row,) = csv.DictReader((out / "benchmark.csv").read_text().splitlines())
    row |= {"acc1": "0.999", "acc5": "nan", "dataset": "vtab/pets"}  # as in the published table
    other = row | {"acc1": "0.001", "language": "jp"}
    table = tmp_path / "published.csv"
    table.write_text("\n".join([",".join(row), ",".join(row.values()), ",".join(other.values()), ""]))
    assert main(["export", "clip-benchmark", str(run_of_pets), f"--published={table}", "--out", str(out)]) == 0
    rows = {line["metric"]: line for line in csv.DictReader((out / "published.csv").read_text().splitlines())}
    assert {*rows} == {"acc1", "mean_per_class_recall"}
    assert float(rows["acc1"]["difference"]) == pytest.approx(float(rows["acc1"]["value"]) - 0.999)
    assert rows["acc1"]["within"] == str(float(rows["acc1"]["low"]) <= 0.999 <= float(rows["acc1"]["high"]))
    assert (rows["mean_per_class_recall"]["difference"], rows["mean_per_class_recall"]["within"]) == ("0.0", "True")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("dataset,model\nwds/cars,a\n", "has no column pretrained"),
        ("", "has no row"),
        ("dataset,model,pretrained,acc1\nwds/cars,a,b,0.5\n", "has no row of the runs' data sets and models"),
        ("dataset,model,pretrained,acc1\nvtab/pets,{model},,high\n", "has acc1=high. Expected a number"),
    ],
)
def test_a_table_without_these_rows_is_refused(
    run_of_pets: Path, tmp_path: Path, content: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = read_run(run_of_pets).records[0].model.spec
    (table := tmp_path / "published.csv").write_text(content.format(model=name.partition("[")[2].rstrip("]") or name))
    options = [f"--published={table}", "--out", str(tmp_path / "exported")]
    assert main(["export", "clip-benchmark", str(run_of_pets), *options]) != 0
    assert sentence in capsys.readouterr().err
