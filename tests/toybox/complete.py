"""The mark of a test that needs the art of every style."""

import pytest

from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.styles import STYLES

COMPLETE = pytest.mark.skipif(styles() != tuple(STYLES), reason="the folder of a style was left out of this build")
