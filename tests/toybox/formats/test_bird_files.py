"""The bird table: who is named, what cannot be told and why, and who lives where."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from eyechart.toybox.art.bird_looks import candidates, look_alikes, species
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.formats import bird_files
from eyechart.toybox.formats.bird_files import OCCLUSION, QUALITY, REASONS, VOICE, Observation, observations, picture

SEED, COUNT = 7, 180
Line = dict[str, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("birds")
    bird_files.write(made, SEED, COUNT)
    return made


def read(path: Path) -> list[Line]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def lines(folder: Path) -> list[Line]:
    return read(folder / "drawn/birds.csv")


@pytest.mark.deep
def test_taxonomy_and_ranges_are_those_of_every_species(folder: Path) -> None:
    taxa, ranges = read(folder / "drawn/taxonomy.csv"), read(folder / "drawn/ranges.csv")
    assert [line["species"] for line in taxa] == [line["species"] for line in ranges] == [one.name for one in species()]
    assert all(line["species"].startswith(f"{line['genus']} ") for line in taxa)
    assert all(
        float(line["south"]) < float(line["north"]) and float(line["west"]) < float(line["east"]) for line in ranges
    )


def test_every_picture_is_there(folder: Path, lines: list[Line]) -> None:
    images = {path.relative_to(folder / "drawn").as_posix() for path in (folder / "drawn/images").iterdir()}
    assert images == {line["image"] for line in lines}
    assert len(lines) == len(images)


def test_some_observations_have_two_pictures_and_one_truth(lines: list[Line]) -> None:
    truths = defaultdict(set)
    for line in lines:
        truths[line["observation_id"]].add(tuple(value for key, value in line.items() if key != "image"))
    assert {len(found) for found in truths.values()} == {1}
    assert len(truths) == COUNT < len(lines)


def test_unanswerable_pictures_have_a_reason_and_answerable_ones_none(lines: list[Line]) -> None:
    assert all((line["answerable"] == "0") == (line["reason"] in REASONS) for line in lines)
    assert {line["reason"] for line in lines} == {"", *REASONS}
    assert 0.5 < np.mean([line["answerable"] == "1" for line in lines]) < 0.75


def test_an_unanswerable_picture_names_no_species(lines: list[Line]) -> None:
    assert all(line["species"] == ("" if line["reason"] else line["drawn"]) for line in lines)


def test_look_alikes_are_unanswerable_for_their_voice_alone(lines: list[Line]) -> None:
    songs = {one.name: one.song for one in species()}
    assert all(bool(songs[line["drawn"]]) == (line["reason"] == VOICE) for line in lines)


def test_the_genus_is_that_of_the_species(lines: list[Line]) -> None:
    assert all(line["drawn"].split()[0] == line["genus"] for line in lines)


def test_candidates_live_where_the_bird_was_seen(lines: list[Line]) -> None:
    located = [line for line in lines if line["latitude"]]
    assert 0.6 < len(located) / len(lines) < 0.97
    for line in located:
        here = [one.name for one in candidates(float(line["latitude"]), float(line["longitude"]))]
        assert line["candidates"].split(";") == here
        assert line["drawn"] in here


def test_look_alikes_were_seen_where_both_live(lines: list[Line]) -> None:
    others = {one.name: {other.name for other in look_alikes(one)} for one in species()}
    voices = [line for line in lines if line["reason"] == VOICE and line["latitude"]]
    assert voices
    assert all(others[line["drawn"]] <= {*line["candidates"].split(";")} for line in voices)


def test_without_a_place_there_are_no_candidates(lines: list[Line]) -> None:
    assert all(line["longitude"] == line["candidates"] == "" for line in lines if not line["latitude"])


def test_places_are_on_the_globe(lines: list[Line]) -> None:
    indices = [(float(line["latitude"]), float(line["longitude"])) for line in lines if line["latitude"]]
    assert np.abs(indices).max(axis=0).tolist() <= [90, 180]


def detail(image: Image.Image) -> float:
    """How much neighbouring pixels differ."""
    grey = np.asarray(image.convert("L").filter(ImageFilter.MedianFilter(3))).astype(float)
    return float(np.abs(np.diff(grey, axis=1)).mean())


def by_reason(reason: str) -> list[Observation]:
    return [seen for seen in observations(SEED, "test", styles(), 150) if seen.reason == reason]


def test_spoilt_pictures_have_far_less_detail() -> None:
    clear, poor = (
        [detail(picture(SEED, "test", seen, seen.images[0])) for seen in by_reason(why)[:12]] for why in ("", QUALITY)
    )
    assert np.median(poor) < np.median(clear) / 3


def test_hidden_birds_are_mostly_not_seen() -> None:
    from eyechart.toybox.art.draw import Draw
    from eyechart.toybox.formats.bird_files import _hidden

    for number, seen in enumerate(by_reason(OCCLUSION)[:12]):
        found = _hidden(Draw("hidden", number), "test", seen)
        assert found.masks[0].mean() > bird_files.LEAST
        assert found.visible_fractions[0] < bird_files.HIDDEN or found.scene.things[0].size > 2 * bird_files.SIDE


def test_the_training_table_holds_training_styles_and_other_pictures(folder: Path) -> None:
    rows = read(folder / "drawn-train/birds.csv")
    assert {row["style"] for row in rows} <= {*TRAINING}
    pictures = [path.read_bytes() for path in folder.glob("*/images/*.jpg")]
    assert len({*pictures}) == len(pictures)
