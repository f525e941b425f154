"""Tests of `eyechart.reports.figures.panels`."""

from collections import Counter

from eyechart.reports.figures.panels import wrap_name


def test_long_names_are_broken_behind_commas_and_slashes():
    name = "hf[Qwen/Qwen3-VL-2B-Instruct,dtype=bfloat16,device=cuda]"
    lines = wrap_name(name).split("\n")
    assert Counter("".join(lines)) == Counter(name)
    assert lines == ["hf[Qwen/Qwen3-VL-2B-Instruct,", "dtype=bfloat16,device=cuda]"]
    assert wrap_name("conse[]") == "conse[]"
