"""Tests of `eyechart.files.installed`."""

import pytest

from eyechart.errors import DataError
from eyechart.files.installed import packaged_file


@pytest.mark.parametrize("package", ["no_such_package", "timm"])
def test_a_missing_package_or_file_says_what_to_install(package: str) -> None:
    with pytest.raises(DataError, match=r"pip install 'eyechart\[models\]'"):
        packaged_file(package, "no-such-file.txt")
