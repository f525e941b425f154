"""Tests of `eyechart.parsers.text`."""

import sys

import pytest

from eyechart.parsers.text import fold


@pytest.mark.deep
def test_every_letter_folds_alike_in_both_cases() -> None:
    letters = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    cased = [sign for sign in letters if not sign == sign.upper() == sign.lower()]
    assert [sign for sign in cased if not fold(sign) == fold(sign.upper()) == fold(sign.lower())] == []
    assert len(cased) > 2500
