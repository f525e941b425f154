"""Splits by name: what there is, how one is opened, and checks of its labels."""
