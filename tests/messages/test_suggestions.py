"""Tests of `eyechart.messages.suggestions`."""

from eyechart.messages.suggestions import did_you_mean


def test_only_near_words_are_offered() -> None:
    assert did_you_mean("imagnet", ["imagenet", "toybox"]) == "; did you mean imagenet?"
    assert did_you_mean("zzz", ["imagenet", "toybox"]) == "."
