"""The version of eyechart."""

__version__ = "0.1.0"
