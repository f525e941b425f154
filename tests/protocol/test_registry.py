"""A protocol is found by its name, and a name that nothing has is refused with what may be meant."""

import pytest

from eyechart.errors import SpecError
from eyechart.protocol.registry import get_protocol


def test_an_unknown_protocol_is_refused_with_a_near_name_and_what_a_new_entry_point_needs() -> None:
    with pytest.raises(
        SpecError,
        match=r"'closd_world' is not known; did you mean closed_world .* After a new entry point in the "
        r"pyproject\.toml of a package, install the package again\.",
    ):
        get_protocol("closd_world")
