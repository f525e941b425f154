"""Where code is and what it does, without importing what is slow."""

import re

import pytest

from eyechart.models.registry import BUILT_IN
from eyechart.reports.explanation_layout import describe_class


@pytest.mark.parametrize("backend", BUILT_IN)
def test_the_class_of_each_backend_is_found_in_its_file(backend: str) -> None:
    name = BUILT_IN[backend].target.partition(":")[2]
    assert re.match(
        rf"model: eyechart/models/\S+\.py:\d+ {name}\n  \S", describe_class("model", BUILT_IN[backend].target)
    )
