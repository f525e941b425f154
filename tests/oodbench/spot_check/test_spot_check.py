"""The sheet of a spot check holds random pairs of each set, with their pictures and the reasons of the detectors."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.oodbench.division.division_files import read_file
from eyechart.oodbench.spot_check.spot_check import SpotCheckOptions, write
from tests.oodbench.spot_check.pair_answers import indices

Make = Callable[..., Path]


def made(division: Path, **wanted: Any) -> dict[str, Any]:
    """Write a sheet; what it tells its script."""
    root = division.parents[1]
    out = root / "sheet.html"
    write(division, SpotCheckOptions(data=str(root / "data"), store=root / "store", **wanted), out)
    (text,) = re.findall(r'id="sheet">(.*?)</script>', out.read_text(encoding="utf-8"))
    return dict(json.loads(text))


def test_each_set_is_sampled_at_random(make_division: Make) -> None:
    division = make_division()
    whole, sheet = read_file(division), made(division, per_set=3)
    chosen = sheet["about"]["pairs"]
    assert Counter(whole.pairs[index].set for index in chosen) == {"OOD-S": 3, "OOD-H": 3}
    assert len({*chosen}) == 6
    assert chosen == made(division, per_set=3)["about"]["pairs"]
    assert chosen != made(division, per_set=3, seed=7)["about"]["pairs"]


def test_all_are_taken_where_there_are_few_and_only_those_of_the_main_benchmark(make_division: Make) -> None:
    division = make_division(max_pairs=2)
    whole, chosen = read_file(division), made(division)["about"]["pairs"]
    wanted = [index for index, pair in enumerate(whole.pairs) if pair.main and pair.set != "ID"]
    assert sorted(chosen) == wanted
    assert len(wanted) == 4 < len(indices(whole, "OOD-S")) + len(indices(whole, "OOD-H"))


def test_images_are_chosen_as_the_division_says(make_division: Make) -> None:
    division = make_division(limit=5)
    keys = {item["key"] for item in made(division)["items"]}
    assert keys <= {pair.key for pair in read_file(division).pairs}
    assert 0 < len(keys) <= 5


def test_an_item_says_what_the_pair_is_and_who_flagged_it_why(make_division: Make) -> None:
    division = make_division()
    whole, sheet = read_file(division), made(division)
    for index, item in zip(sheet["about"]["pairs"], sheet["items"], strict=True):
        pair = whole.pairs[index]
        assert (item["category"], item["set"], item["key"]) == (pair.category, pair.set, pair.key)
        assert item["here"] == "annotated as being there"
        for (detector, why), code in zip(item["why"], pair.flags, strict=True):
            assert detector in ("clip[a]", "clip[b<b>]")
            assert ("case 1" in why, "below 0.3 (case 2)" in why) == (code in "13", code in "23")


def test_absent_ones_are_called_so(make_division: Make) -> None:
    items = made(make_division(include_absent=True))["items"]
    here = {item["here"]: item["why"][0][1] + item["why"][1][1] for item in items}
    assert {*here} == {"annotated as being there", "annotated as not being there"}
    assert (
        "this category has a higher probability than every present one (case 1)" in here["annotated as not being there"]
    )


def test_the_pictures_are_those_of_the_pairs(make_division: Make) -> None:
    division = make_division()
    sheet = made(division)
    page = (division.parents[1] / "sheet.html").read_text(encoding="utf-8")
    shown = re.findall(r'id="picture-(\d+)">(.*?)</script>', page)
    assert [int(number) for number, _ in shown] == [*range(1, len(sheet["items"]) + 1)]
    assert len({data for _, data in shown}) == len({item["key"] for item in sheet["items"]})


def test_hostile_texts_stay_texts(make_division: Make) -> None:
    harm = "</script><img src=x onerror=\"document.title='pwned'\">"
    division = make_division(names=(harm, "a\u202eb", "{{code}} &lt;"))
    sheet = made(division)
    page = (division.parents[1] / "sheet.html").read_text(encoding="utf-8")
    assert harm not in page
    assert "b<b>" not in page
    assert {item["category"] for item in sheet["items"]} == {harm, "a�b", "{{code}} &lt;"}
    assert "{{code}} &lt;" not in page


def test_a_division_with_nothing_to_check_is_refused(make_division: Make) -> None:
    with pytest.raises(ReportError, match="has no pairs out of distribution in the main benchmark"):
        made(make_division(max_pairs=0))


def test_the_images_must_be_those_that_were_divided(make_division: Make, capsys: pytest.CaptureFixture[str]) -> None:
    division = make_division()
    (division.parents[1] / "data" / "mine" / "val2017" / "000.png").write_bytes(b"another picture")
    arguments = [
        "divide",
        "check-sheet",
        str(division),
        f"--data={division.parents[1] / 'data'}",
        f"--store={division.parent}",
    ]
    assert main(arguments) == 2
    assert "and the division saw images with the fingerprint" in capsys.readouterr().err
    assert main([*arguments, "--per-set=0"]) == 2
    assert "--per-set is 0, expected a number of pairs from 1 up." in capsys.readouterr().err
