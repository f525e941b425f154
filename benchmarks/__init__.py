"""Test functions of the packaged protocols, a folder for each study."""

from collections.abc import Callable
from types import FunctionType

import pytest

from eyechart.protocol.registry import get_protocol, list_protocols, protocol_modules


def make_tests(function: Callable[..., None], study: str) -> dict[str, FunctionType]:
    """Return a test function for each protocol of a study by its name: a copy of `function` with the protocol's mark.

    pytest reports the file of the code as the location of a test, so that each study's file has a function to copy.
    """
    assert isinstance(function, FunctionType)
    tests = {}
    for protocol in list_protocols():
        if protocol_modules()[protocol].startswith(f"eyechart.{study}."):
            name = f"test_{protocol}"
            test = FunctionType(function.__code__, function.__globals__, name)
            test.__annotations__, test.__module__ = function.__annotations__, function.__module__
            test.__doc__ = get_protocol(protocol).summary
            tests[name] = pytest.mark.eyechart(protocol=protocol)(test)
    return tests
