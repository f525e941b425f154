"""Choices of which some begin others."""

import json

NAMES = ["cat", "caterpillar", "cat food", "a cat that sees", "dog", "cat", "x", "hot dog", ""]  # some begin others


JSON = [json.dumps({"1": name}) for name in NAMES]


CHOICES = [*NAMES, *JSON, *(f" {name}" for name in NAMES), '"cat"', "cat\n"]
