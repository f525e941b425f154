"""Why a case of the baseline was not collected, from what a session asks for."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.gate.session.missing_cases import CaseFunction, RequestedCases
from eyechart.results.evidence import Evidence

CASE = Evidence(
    case="imagenet/val/m[]@k=5",
    protocol="knn",
    model="m[]",
    weights_sha256=None,
    fingerprint="",
    label_hashes={},
    variant={},
    limit=None,
    seed=0,
    samples=0,
    environment={},
    metrics=(),
    arrays={},
)
PACKAGED = CaseFunction(["imagenet"], "knn", "test_knn", "", ["test_knn"], ["eyechart"])
OWN = CaseFunction(["*"], "knn", "test_mine", "test_own.py::test_mine", ["test_mine"], ["eyechart"])


def requested(
    functions: Iterable[CaseFunction] = (PACKAGED,), splits: Iterable[str] = ("imagenet/val",), **values: Any
) -> RequestedCases:
    """What a session asks for, which collected no case unless it is given."""
    chosen = {"cases": (), "models": ["m[]"], "is_selected": lambda *_: True, **values}
    return RequestedCases(functions=[*functions], splits=lambda: splits, **chosen)


@pytest.mark.parametrize(
    ("session", "why"),
    [
        (requested(cases=[("imagenet/val/m[]@k=5", "knn")]), ""),
        (requested(functions=()), "no test asks for it"),
        (requested(functions=(), selects_files=True), ""),
        (requested(functions=(OWN,)), "no test asks for it"),
        (requested(is_selected=lambda *_: False), ""),
        (requested(splits=["imagenet/v2"]), "there is no split imagenet/val"),
        (requested(models=["other[]"]), "no such model was asked for"),
        (requested(), "no test has these options"),
    ],
)
def test_why_a_case_was_not_collected(session: RequestedCases, why: str) -> None:
    assert session.why_missing(CASE) == why


def test_a_case_of_a_users_test_is_asked_for_by_that_test_alone() -> None:
    case = replace(CASE, case="pets/test/m[]@test=test_own.py::test_mine")
    found = [("pets/test/m[]", "knn")]
    assert requested(functions=(OWN,), cases=found).why_missing(case) == ""
    assert requested(functions=(PACKAGED,), cases=found).why_missing(case) == "no test asks for it"


def test_other_models_and_options_of_the_command_line_leave_a_case_out() -> None:
    assert requested(models=["other[]"], names_models=True).is_left_out(CASE)
    assert not requested(models=["other[]"]).is_left_out(CASE)
    other = [("imagenet/val/m[]@k=7", "knn")]
    assert requested(cases=other, sets_options=True).is_left_out(CASE)
    assert not requested(cases=other).is_left_out(CASE)
    assert not requested(cases=[("imagenet/v2/m[]@k=7", "knn")], sets_options=True).is_left_out(CASE)
