"""The time left: by requests, tests and models that are alike, and never by answers that were stored."""

from typing import Any

import pytest

from eyechart.plugins.case_ids import case_pattern
from eyechart.plugins.pace import CaseParts, Pace, State


def asking(**values: Any) -> State:
    """A case that is running."""
    return State(phase="", unit="images", **values)


def pace(*cases: str) -> Pace:
    """The cases of a session, by TEST[SPLIT/MODEL[]]."""
    found = [case_pattern(()).search(case) for case in cases]
    return Pace({case.string: CaseParts.of(case) for case in found if case})


def test_the_time_left_follows_requests_test_and_model() -> None:
    session = pace(
        "z[b/big/m[]]", "z[b/small/m[]]", "p[b/small/m[]]", "z[b/big/n[]]", "z[b/small/n[]]", "p[b/small/n[]]"
    )
    assert session.describe([]) == "0/6 cases"
    session.finish("z[b/big/m[]]", 100.0, 1000, 1000)
    assert session.seconds_left([]) == pytest.approx(5 * 100)
    session.finish("z[b/small/m[]]", 1.0, 10, 10)
    session.finish("p[b/small/m[]]", 50.0, 10, 10)
    assert session.seconds_left([]) == pytest.approx(100 + 1 + 50)
    session.finish("z[b/small/n[]]", 2.0, 10, 10)  # this model takes twice as long for each image
    assert session.seconds_left([]) == pytest.approx(200 + 50)
    assert session.describe([]) == "4/6 cases, 04:10 left"
    running = [asking(case="z[b/big/n[]]", done=500, total=1000, fresh=500, asking=120.0, seconds=125.0)]
    assert session.seconds_left(running) == pytest.approx(120 + 50)
    running.append(asking(case="p[b/small/n[]]", done=0, total=0, fresh=0, asking=0.0, seconds=20.0))
    assert session.seconds_left(running) == pytest.approx((120 + 30) / 2)


def test_cases_with_stored_answers_set_no_pace() -> None:
    session = pace("z[b/s1/m[]]", "z[b/s2/m[]]", "z[b/s3/m[]]", "z[b/s4/m[]]")
    session.finish("z[b/s1/m[]]", 0.1, 0, 0)
    assert session.describe([]) == "1/4 cases"
    session.finish("z[b/s2/m[]]", 30.0, 100, 50)  # half of them were stored
    assert session.seconds_left([]) == pytest.approx(2 * 60)
