"""`pytest -k realbirdid` with two wordings a level: packaged birds, two encoders and a small model, each asked once."""

import csv
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from eyechart.realbirdid.data.registered import packaged_root
from eyechart.realbirdid.data.taxonomy import Taxonomy, read_taxonomy
from eyechart.toybox.formats import bird_files as birds_of_the_toybox

pytestmark = pytest.mark.deep

ENCODERS, MLLM = ("open_clip[toybox-clip]", "conse[]"), "hf[toybox-mllm]"
SPLITS, TOY = ("sample", "sample-drawn"), "realbirdid/sample-drawn"
FEW = ("--eye-set=abstention.prompt_set=wordings.toml", "--eye-limit=12")
WORDINGS = """
plain = ["What species of bird is in this image?", "Which bird is this?"]
warned = ["What species is it? It may be impossible to tell; then say why.", "Name this bird, or say why not."]
"""
IN_WORDS, BY_NUMBER = ("abstention", "free_form"), ("flat_list", "species")


@pytest.fixture(scope="module")
def asked(new_world: Callable[[], Any]) -> Any:
    """A world after a run, its records and its files."""
    world = new_world()
    (world.folder / "wordings.toml").write_text(WORDINGS)
    world.installed("realbirdid", *FEW)
    world.first, world.written = world.records, world.files
    return world


@pytest.fixture(params=product((*ENCODERS, MLLM), SPLITS), ids="/".join)
def scored(request: pytest.FixtureRequest, asked: Any) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """A record of species and its csv."""
    model, split = request.param
    case = f"realbirdid/{split}/{model}"
    record = next(one for one in asked.first if (one["case"], one["protocol"]) == (case, "species"))
    return record, [*csv.DictReader(asked.written[record["predictions"]["path"]].decode().splitlines())]


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a split of birds, and one of pictures alone."""
    root = tmp_path_factory.mktemp("root")
    birds_of_the_toybox.write(root / "realbirdid", 42, 12)
    (picture, *_) = sorted((root / "realbirdid" / "drawn" / "images").iterdir())
    (root / "realbirdid" / "pictures" / "gull").mkdir(parents=True)
    (root / "realbirdid" / "pictures" / "gull" / "one.jpg").write_bytes(picture.read_bytes())
    return root


def value(record: dict[str, Any], name: str, subset: str, level: str = "", labels: str = "all species") -> float:
    wanted = {"name": name, "subset": subset, "level": level, "labels": labels}
    (found,) = [one for one in record["metrics"] if all(one[key] == wanted[key] for key in wanted)]
    return float(found["value"])


def test_every_split_meets_every_model_under_its_protocols(asked: Any) -> None:
    found = sorted((one["case"].partition("@")[0], one["protocol"]) for one in asked.first)
    numbers = [
        (f"realbirdid/{split}/{who}", name) for split, who, name in product(SPLITS, (*ENCODERS, MLLM), BY_NUMBER)
    ]
    words = [(f"realbirdid/{split}/{MLLM}", name) for split, name in product(SPLITS, IN_WORDS)]
    assert found == sorted(numbers + words)


def test_every_number_has_n_and_an_interval_around_it(asked: Any) -> None:
    told = [metric for one in asked.first for metric in one["metrics"] if metric["value"] is not None]
    without = {metric["name"] for metric in told if metric["ci"] is None}
    assert without <= {"cochran_q", "cochran_p"}
    assert all(metric["n"] for metric in told)
    assert all(
        low - 1e-9 <= metric["value"] <= high + 1e-9 for metric in told if metric["ci"] for low, high in [metric["ci"]]
    )


def test_the_numbers_of_every_level_follow_from_the_csv(scored: tuple[dict[str, Any], list[dict[str, str]]]) -> None:
    record, rows = scored
    tree = read_taxonomy(packaged_root() / record["split"] / "taxonomy.csv")
    assert tree.levels == ("species", "genus", "family", "order")[: 4 if record["split"] == "sample" else 2]
    for kind, levels in (("answerable", tree.levels), ("unanswerable", tree.levels[1:])):
        some = [row for row in rows if row["subset"] == kind]
        for level in levels:
            right = [row[f"all.{level}"] == known(tree, row, level) for row in some]
            assert value(record, "acc", kind, level) == pytest.approx(np.mean(right))


def known(tree: Taxonomy, row: dict[str, str], level: str) -> str:
    """The true name of a bird at a level."""
    if level == "species":
        return row["species"]
    index = tree.index_of(1, row["genus"])
    for parents in tree.parents[1 : tree.levels.index(level)]:
        index = int(parents[index])
    return tree.names[tree.levels.index(level)][index]


def test_the_trade_off_is_the_auroc_of_the_csv(scored: tuple[dict[str, Any], list[dict[str, str]]]) -> None:
    record, rows = scored
    without = [row["subset"] == "unanswerable" for row in rows]
    unsure = [1 - float(row["all.species.probability"]) for row in rows]
    assert value(record, "ua_a", "all") == pytest.approx(roc_auc_score(without, unsure), abs=1e-3)


def test_lists_leave_out_whoever_has_none(scored: tuple[dict[str, Any], list[dict[str, str]]]) -> None:
    record, rows = scored
    told = [row for row in rows if row["range.species"]]
    assert 0 < len(told) < len(rows)
    assert {row["range.candidates"] for row in rows if not row["range.species"]} == {"0"}
    answerable = sum(row["subset"] == "answerable" for row in told)
    assert [one["n"] for one in record["metrics"] if (one["labels"], one["name"]) == ("range", "ig")] == [answerable]


def test_who_is_alone_on_a_list_is_certain(scored: tuple[dict[str, Any], list[dict[str, str]]]) -> None:
    _, rows = scored
    listed = [row for row in rows if row["range.candidates"] == "1"]
    assert {row["range.species.probability"] for row in listed} <= {"1"}


def test_a_second_run_asks_nothing_and_writes_the_same(asked: Any) -> None:
    asked.installed(TOY, *FEW)
    assert asked.session["run"]["loads"] == 0
    assert asked.records == [record for record in asked.first if record["split"] == "sample-drawn"]
    assert asked.files.items() <= asked.written.items()


def test_common_names_are_another_question(asked: Any) -> None:
    asked.installed(f"{TOY}/open_clip and species", FEW[1], "--eye-set=species.species_names=scientific,common")
    plain, common = asked.records
    assert (plain["variant"]["species_names"], common["variant"]["species_names"]) == ("scientific", "common")
    assert common["case"].endswith("@species_names=common")
    assert value(common, "acc", "answerable", "species") > value(plain, "acc", "answerable", "species")


def test_a_folder_of_ones_own_is_a_split(world: Any, birds: Path) -> None:
    world.installed("realbirdid/drawn/open_clip and species", f"--eye-data={birds}", FEW[1])
    assert [record["case"] for record in world.records] == [f"realbirdid/drawn/{ENCODERS[0]}"]


def test_a_folder_without_observations_fails_with_a_sentence(world: Any, birds: Path) -> None:
    said = world.installed("realbirdid/pictures/open_clip", f"--eye-data={birds}", code=1)
    assert "realbirdid/pictures has no observations. Put birds.csv" in said
