"""A pytest-native evaluation suite for vision models.

The library does not depend on pytest: `data` reads images and labels, `models` loads models, `classification`,
`oodbench` and `realbirdid` have protocols and metrics, `inference` sends requests and stores responses, `records`
defines the files that a run writes.
"""

import csv

# An answer may have a million characters, and csv refuses cells of more than 131,072. The limit is global in a process,
# so it is raised here, before any module that reads csv is imported.
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))

__version__ = "0.1.0"
__all__ = ["__version__"]
