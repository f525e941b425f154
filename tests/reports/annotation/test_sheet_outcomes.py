"""The sheet of a spot check holds what it should; answers to it become rates, and a division without what was wrong."""

import json
import re
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import ReportError
from eyechart.oodbench.division.division_files import read_division, read_file
from eyechart.oodbench.spot_check.sheet_outcomes import outcome_table, read_outcome, write_new
from eyechart.oodbench.spot_check.spot_check import SpotCheckOptions, write
from tests.reports.annotation.pair_answers import answered, indices

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


def test_rates_have_wilson_intervals_and_leave_the_unsure_out(make_division: Make) -> None:
    division = make_division()
    simple, hard = (indices(read_file(division), name) for name in ("OOD-S", "OOD-H"))
    verdicts = dict.fromkeys(simple[:3], "accept") | {simple[3]: "reject", simple[4]: "unsure", hard[0]: "accept"}
    rows = {row[0]: row[1:] for row in outcome_table(read_outcome(division, [answered(division, verdicts)])).rows}
    assert rows["OOD-S"][:5] == (len(simple), 5, 3, 1, 1)
    assert (rows["OOD-S"][5].text(with_n=True)) == "75.00 [30.06, 95.44] n=4"
    assert rows["OOD-H"][:5] == (len(hard), 1, 1, 0, 0)
    assert rows["all"][5].text(with_n=True) == "80.00 [37.55, 96.38] n=5"


def test_nothing_checked_has_no_rate(make_division: Make) -> None:
    division = make_division()
    row = outcome_table(read_outcome(division, [answered(division, {})])).rows[0]
    assert row[6].text(with_n=False) == "—"


def test_the_new_division_lacks_what_was_rejected_and_says_so(make_division: Make) -> None:
    division = make_division()
    gone, kept = indices(read_file(division), "OOD-H")[:2]
    answers = answered(division, {gone: "reject", kept: "accept"})
    new = division.with_name("new.json")
    write_new(read_outcome(division, [answers]), new)
    before, after = read_file(division), read_file(new)
    assert [*after.pairs] == [pair for index, pair in enumerate(before.pairs) if index != gone]
    assert {name: value for name, value in after.parameters.items() if name not in before.parameters} == {
        "checked": "2",
        "checked_rejected": "1",
        "checked_answers": f"answers.json ({sha256(answers.read_bytes()).hexdigest()})",
        "checked_division": sha256(division.read_bytes()).hexdigest(),
    }
    assert after.notes[-1] == "1 × pair left out of the division: rejected in a spot check of 2"


def test_the_new_division_is_one_of_the_data_and_can_be_checked_again(make_division: Make) -> None:
    division, new = make_division(), "new.json"
    first = answered(division, {indices(read_file(division), "OOD-H")[0]: "reject"})
    again = division.with_name(new)
    write_new(read_outcome(division, [first]), again)
    ref = next(ref for ref in list_splits(division.parents[1] / "data") if ref.split == "mine")
    assert len(read_division(again, open_split(ref))) == len(read_file(division).pairs) - 1
    write_new(read_outcome(again, [answered(again, {0: "unsure"}, "second.json")]), division.with_name("third.json"))
    parameters = read_file(division.with_name("third.json")).parameters
    assert (parameters["checked"], parameters["checked_rejected"]) == ("1; 1", "1; 0")


def test_the_division_is_not_written_over(make_division: Make) -> None:
    division = make_division()
    with pytest.raises(ReportError, match=r"is the division that was checked\. Give the new one another name"):
        write_new(read_outcome(division, [answered(division, {})]), division)


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


def test_the_commands_say_what_comes_next(make_division: Make, capsys: pytest.CaptureFixture[str]) -> None:
    division = make_division()
    root = division.parents[1]
    assert (
        main(
            ["divide", "check-sheet", str(division), f"--data={root / 'data'}", f"--store={root / 's'}", "--per-set=2"]
        )
        == 0
    )
    output = capsys.readouterr().out
    assert f"{division.with_suffix('.html')}: 4 pairs (OOD-S: 2, OOD-H: 2), 0.0 MB." in output
    assert f"eyechart divide check-answers {division} answers-" in output
    files = [str(answered(division, {0: "reject"}, name)) for name in ("a.json", "b.json")]
    assert main(["divide", "check-answers", str(division), *files, f"--out={root / 'new.json'}"]) == 0
    printed = capsys.readouterr()
    assert "| OOD-S |" in printed.out
    assert f"{root / 'new.json'}: " in printed.err
