"""`--eye-profile`: a Chrome trace with what a session did in all its processes."""

import json
from collections import defaultdict
from collections.abc import Callable, Generator
from typing import Any

import pytest

from eyechart.models.runtime.tracing import Event, own_seconds, read_events, spans


def profiled(world: Any, *arguments: str) -> tuple[list[Event], str]:
    """The events of a session, and what it said."""
    done = world.passes("--eye-profile", *arguments)
    return read_events(world.latest / "profile.json"), done.stdout.str()


@pytest.fixture(scope="module")
def serial_profile(new_world: Callable[[], Any]) -> tuple[Any, list[Event], str]:
    """A world after a session in one process, its events, and what it said."""
    world = new_world()
    return world, *profiled(world, "-n0", "-pxdist")


def named(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event.name == name and event.ph == "X"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_trace_has_what_every_case_did(new_world: Any, serial_profile: Any, workers: int) -> None:
    world, events, said = serial_profile
    if workers:
        world = new_world()
        events, said = profiled(world, f"-n{workers}")
    names = {event.name for event in events}
    assert {"collect", "case", "make model", "identify", "predict", "decode", "prepare", "forward"} < names
    assert {"store", "read answers", "score", "evidence", "end of the session"} < names
    cases = [event.args["name"] for event in named(events, "case")]
    assert sorted(cases) == sorted(record["case"] for record in world.records)
    processes = {event.args["name"]: event.pid for event in events if event.name == "process_name"}
    assert sorted(processes) == (["gw0", "gw1", "pytest"] if workers else ["pytest"])
    assert {event.pid for event in events} == {*processes.values()}
    assert not (world.latest / "profile").exists()
    assert f"profile: {world.latest.resolve() / 'profile.json'}" in said
    assert "s forward" in said


def test_spans_of_a_thread_are_inside_one_another(serial_profile: Any) -> None:
    _, events, _ = serial_profile
    cases = named(events, "case")
    for name in ("predict", "forward", "score", "evidence"):
        for event in named(events, name):
            assert any(
                case.ts <= event.ts and event.ts + event.dur <= case.ts + case.dur + 1
                for case in cases
                if (case.pid, case.tid) == (event.pid, event.tid)
            ), event
    whole = defaultdict[int, float](float)
    for event in cases:
        whole[event.pid] += event.dur / 1e6
    own = own_seconds(event for event in events if event.tid in {case.tid for case in cases})
    assert all(seconds > -1e-3 for seconds in own.values())
    assert sum(own[name] for name in own if name not in ("collect", "end of the session")) == pytest.approx(
        sum(whole.values()), rel=0.01
    )


def test_spans_close_the_generator_of_the_items() -> None:
    closed = []

    def items() -> Generator[int]:
        try:
            yield from range(3)
        finally:
            closed.append(True)

    numbers, held = items(), spans("number", source := items())
    assert [*spans("number", numbers)] == [0, 1, 2]
    assert next(held) == 0
    held.close()
    assert (closed, [*source]) == ([True, True], [])


def test_stored_answers_have_no_forward_pass_and_without_the_option_there_is_no_trace(world: Any) -> None:
    world.passes()
    assert not (world.latest / "profile.json").exists()
    events, _ = profiled(world)
    assert not named(events, "forward")
    assert named(events, "read answers")


def test_it_is_a_chrome_trace(serial_profile: Any) -> None:
    world, _, _ = serial_profile
    content = json.loads((world.latest / "profile.json").read_bytes())
    assert content["displayTimeUnit"] == "ms"
    for event in content["traceEvents"]:
        assert event["ph"] in "XM"
        assert {"name", "pid", "tid"} <= {*event}
        assert event["ph"] == "M" or event["dur"] >= 0
