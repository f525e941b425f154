"""Putting a split to a model under a protocol: what is asked is asked once, the rest is arithmetic on kept answers."""

from eyechart.asking.asker import Asker, Wording, text_key
from eyechart.asking.registry import SITTINGS, predict
from eyechart.asking.sitting import Sitting

__all__ = ["SITTINGS", "Asker", "Sitting", "Wording", "predict", "text_key"]
