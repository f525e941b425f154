"""Answers to the sheet of a spot check become rates, and a division without what was rejected."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from eyechart.cli import main
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import ReportError
from eyechart.oodbench.division.division_files import read_division, read_file
from eyechart.oodbench.spot_check.sheet_outcomes import outcome_table, read_outcome, write_new
from tests.oodbench.spot_check.pair_answers import answered, indices

Make = Callable[..., Path]


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
