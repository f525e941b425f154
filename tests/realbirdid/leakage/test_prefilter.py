"""The sieve loses nothing: whatever text has a wanted key is among its candidates."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.data.identifiers import Kind, canonical_key
from eyechart.realbirdid.leakage.prefilter import Prefilter

UUID = "0a1b2c3d-0000-4000-8000-00000000000f"
numbers = st.integers(0, 40)
values = numbers.map(str) | st.just(UUID)
forms = st.sampled_from(
    [
        *(
            "https://www.inaturalist.org/photos/{}",
            "inaturalist.org/observations/{}?x=photos/3",
            "photos/{}/medium.jpg",
        ),
        *("https://static.inaturalist.org/photos/{}/large.jpg?7", "s3://inaturalist-open-data/photos/00{}/square.png"),
        "https://api.gbif.org/v1/image/unsafe/https%3A%2F%2Fwww.inaturalist.org%2Fphotos%2F{}",
        *("https://web.archive.org/web/1/http://inaturalist.org/photos/{}", "https://www.gbif.org/occurrence/{}"),
        *("https://example.org/observations/9/https://www.inaturalist.org/photos/{}", "photo:{}", "observation:obs-{}"),
        *("{}", " 0{}", "{}.0", "{}.jpg", "\xa0{} ", "obs-{}", "OBS-{}", "HTTPS://Example.org:8080/a/{}.jpg?2"),
        *(
            "https://www.inaturalist.org/observations/5/photos/{}",
            "{} birds",
            "https://[{}",
            "HTTPS://INATURALIST.ORG/PHOTOS/{}",
        ),
    ]
)
texts = st.builds(str.format, forms, values) | st.text(max_size=8)
kinds: st.SearchStrategy[Kind | None] = st.sampled_from(["photo", "observation", "occurrence", None])


def kept(sieve: Prefilter, cells: Sequence[str | None]) -> set[int]:
    return {*sieve.candidates(pa.array(cells, pa.string()))}


@given(st.lists(texts, min_size=1, max_size=4), st.lists(texts | st.none(), max_size=8), kinds)
def test_every_text_with_a_wanted_key_is_a_candidate(wanted: list[str], cells: list[str | None], kind) -> None:
    keys = {canonical_key(text, kind) for text in wanted} - {""}
    truth = {index for index, cell in enumerate(cells) if cell and canonical_key(cell, kind) in keys}
    if keys:
        assert truth <= kept(Prefilter.from_keys(keys), [*cells])


@pytest.mark.parametrize("key", ["photo:17", f"photo:{UUID}", "url:example.org/a", "observation:word"])
def test_other_texts_are_not(key: str) -> None:
    cells = ["https://www.inaturalist.org/photos/170", "18", "https://other.org/a", "words", None, ""]
    assert kept(Prefilter.from_keys([key]), cells) == set()


def test_every_sort_of_key_at_once() -> None:
    cells = [
        "photos/17/large.jpg",
        f"https://www.inaturalist.org/photos/{UUID.upper()}",
        "HTTP://WWW.EXAMPLE.ORG/b",
        "Word",
    ]
    keys = ["photo:17", f"photo:{UUID}", "url:example.org/b", "observation:word"]
    assert kept(Prefilter.from_keys(keys), [*cells, None]) == {0, 1, 2, 3}
