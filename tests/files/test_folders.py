"""Tests of `eyechart.files.folders`."""

import time
from datetime import UTC, datetime

import pytest

from eyechart.files.folders import run_name


def test_a_run_is_named_by_the_time_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as far_away:
        far_away.setenv("TZ", "Pacific/Kiritimati")  # 14 hours ahead
        time.tzset()
        before = datetime.now(UTC)
        names = [run_name() for _ in range(3)]
        after = datetime.now(UTC)
    time.tzset()
    times = [datetime.strptime(name, "%Y%m%d-%H%M%S-%f").replace(tzinfo=UTC) for name in names]
    assert [before, *times, after] == sorted([before, *times, after])
    assert names == sorted(names)
