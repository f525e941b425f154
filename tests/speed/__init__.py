"""Measurements of speed, never timed tests. `toybox`, which draws some of the questions, is in the folder `tools`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
