"""Folders of COCO and LVIS files that several files of tests look at."""

import pytest

from eyechart.toybox.formats import coco_files, lvis_files
from tests.toybox.formats.written import Made


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Files of COCO."""
    return Made(coco_files, tmp_path_factory.mktemp("coco"), "annotations/instances_val2017.json")


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Files of LVIS."""
    return Made(lvis_files, tmp_path_factory.mktemp("lvis"), "lvis_v1_val.json")
