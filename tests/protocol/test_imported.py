"""Results of another tool have a protocol, too, by which tables and page read them."""

import pytest

from eyechart.errors import UnavailableError
from eyechart.protocol.imported import recorded_protocol
from eyechart.protocol.registry import get_protocol, protocol_modules


@pytest.mark.parametrize("name", protocol_modules())
def test_a_registered_protocol_stands_for_itself(name: str) -> None:
    assert type(recorded_protocol(name)) is type(get_protocol(name))


def test_a_tool_has_its_own_name_and_no_images_to_show() -> None:
    first, second = recorded_protocol("lmms-eval"), recorded_protocol("vlmevalkit")
    assert (first.name, second.name) == ("lmms-eval", "vlmevalkit")
    assert first.summary == "Imported results of lmms-eval, with its own prompts and scores."
    assert (first.sample_unit, first.knows_images, first.benchmarks) == ("sample", False, ())


def test_a_tool_cannot_be_asked_again() -> None:
    with pytest.raises(UnavailableError, match="Import its file: eyechart import"):
        recorded_protocol("lmms-eval").predict(None)
