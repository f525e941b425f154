"""Clusters of images: k-means of features with names of near words, and the cluster that a model lost is named."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import eyechart
from eyechart.api.image_clusters import ClusterOptions, ImageClusters, cluster_images, compare_clusters
from eyechart.cli import main
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import ReportError
from eyechart.models.spec import parse_spec
from eyechart.results.records import read_run

SPLIT, ENCODER = "sample-fluent-3d", "open_clip[toybox-clip]"


def test_images_of_one_direction_are_a_cluster_with_the_nearest_words() -> None:
    draws = np.random.default_rng(0)
    kinds = draws.integers(0, 3, 300)
    features = np.eye(8)[kinds] * draws.uniform(1, 50, (300, 1)) + draws.normal(0, 0.05, (300, 8))
    words = np.eye(8)[[0, 0, 1, 1, 2, 2, 7]] + draws.normal(0, 0.01, (7, 8))
    codes, names = cluster_images(features, words, ["cat", "kitten", "dog", "puppy", "car", "truck", "x"], 3, 42)
    of_kind = {kind: {*codes[kinds == kind].tolist()} for kind in range(3)}
    assert all(len(clusters) == 1 for clusters in of_kind.values())
    assert [{*names[next(iter(of_kind[kind]))].split(" / ")} for kind in range(3)] == [
        {"cat", "kitten"},
        {"dog", "puppy"},
        {"car", "truck"},
    ]
    assert cluster_images(features, words, list("abcdefg"), 3, 42)[0].tolist() == codes.tolist()


def test_there_are_no_more_clusters_than_images() -> None:
    codes, names = cluster_images(np.eye(2), np.eye(2), ["a", "b"], 9, 0)
    assert (sorted(codes.tolist()), len(names)) == ([0, 1], 2)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], str, ClusterOptions]:
    """Two runs of a model that knows every image, and then none of one cluster; the cluster; the options."""
    home = tmp_path_factory.mktemp("clusters")
    ref = next(ref for ref in list_splits(None) if str(ref) == f"toybox/{SPLIT}")
    dataset = open_split(ref, home / "index")
    options = ClusterOptions(parse_spec(ENCODER), 6, home / "store", offline=True)

    def run(name: str, wrong: Any = ()) -> Path:
        answers = [(row.label + 1) % dataset.classes if key in wrong else row.label for key, row in rows.items()]
        lines = [f"{key},{answer}" for key, answer in zip(rows, answers, strict=True)]
        (home / f"{name}.csv").write_text("\n".join(["key,answer", *lines, ""]))
        return eyechart.evaluate(
            f"m=replay[path={home / name}.csv]",
            f"toybox/{SPLIT}",
            protocol="replay",
            store=home / "store",
            out=home / name,
        ).folder

    rows = {row.key: row for row in dataset.index}
    before = run("before")
    (record,) = read_run(before).records
    variable = ImageClusters(options).of_record(record)
    largest = int(np.bincount(variable.codes).argmax())
    lost = {key for key, code in zip(dataset.keys, variable.codes.tolist(), strict=True) if code == largest}
    return [before, run("after", lost)], variable.values[largest], options


@pytest.mark.deep
def test_the_cluster_that_was_lost_is_named(runs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folders, name, options = runs
    table = compare_clusters(*folders, options)
    assert table.title == "Clusters of images: 1 of 6 lost, 0 gained"
    assert table.rows[0][1] == name
    assert table.rows[0][-1] == "regression"
    assert {row[-1] for row in table.rows[1:]} == {"inconclusive"}
    assert sum(int(str(row[5])) for row in table.rows) == 123
    store = f"--store={options.store}"
    assert main(["clusters", *map(str, folders), "--count=6", store, "--offline", "--format=csv"]) == 0
    assert name in capsys.readouterr().out.splitlines()[1]


@pytest.mark.deep
def test_own_words_name_clusters(runs: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders, _, options = runs
    (tmp_path / "words.txt").write_text("animal\n\nvehicle\nfood\n")
    arguments = [f"--words={tmp_path / 'words.txt'}", f"--store={options.store}", "--offline", "--format=csv"]
    assert main(["clusters", *map(str, folders), *arguments]) == 0
    names = {line.split(",")[1].partition(" (")[0] for line in capsys.readouterr().out.splitlines()[1:]}
    assert {word for name in names for word in name.split(" / ")} <= {"animal", "vehicle", "food"}


@pytest.mark.deep
def test_a_baseline_after_and_other_images_are_refused(runs: Any, tmp_path: Path) -> None:
    folders, _, options = runs
    with pytest.raises(ReportError, match=r"is no run\. Name a run's folder"):
        compare_clusters(folders[0], tmp_path, options)
    (record,) = read_run(folders[0]).records
    other = msgspec.structs.replace(record, data=msgspec.structs.replace(record.data, fingerprint="0" * 64))
    with pytest.raises(ReportError, match=r"are not those of the run\. Name their folder with --data"):
        ImageClusters(options).of_record(other)
