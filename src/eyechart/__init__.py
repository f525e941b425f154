"""An eye test for models that see.

The library knows nothing of pytest: `data` reads images and labels, `models` answers, `protocols` puts the question and
reads the answer, `predictions` keeps it, `metrics` turns it into numbers and `records` writes them down.
"""

import csv

# An answer may have a million letters, and csv refuses cells of more than 131,072. The limit is one for all of a
# process, so that it is lifted here, before any reader of ours can be imported.
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))

__version__ = "0.1.0"
__all__ = ["__version__"]
