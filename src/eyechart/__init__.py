"""An eye test for models that see.

The library knows nothing of pytest: `data` reads images and labels, `models` answers, `protocols` puts the question and
reads the answer, `predictions` keeps it, `metrics` turns it into numbers and `records` writes them down.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
