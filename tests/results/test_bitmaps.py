"""Base 85 by array, against the standard library."""

from base64 import b85decode, b85encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.results.bitmaps import decode_base85, encode_base85


@given(st.binary(max_size=300))
def test_bytes_are_encoded_as_by_the_standard_library_and_decoded(data: bytes) -> None:
    text = encode_base85(data)
    assert text == b85encode(data).decode()
    assert decode_base85(text) == data


@given(st.text(st.characters(max_codepoint=200), max_size=20) | st.text("~|{0", max_size=20))
def test_any_text_is_decoded_or_refused_as_by_the_standard_library(text: str) -> None:
    try:
        expected = b85decode(text)
    except ValueError:
        with pytest.raises(ValueError, match=r".+"):
            decode_base85(text)
    else:
        assert decode_base85(text) == expected
