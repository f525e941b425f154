"""The least probability that a score counts, in a module that imports nothing heavy."""

LEAST = 1e-6  # a smaller probability counts as this
