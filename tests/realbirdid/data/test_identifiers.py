"""Identifiers: every form of one photo, observation or address has one key, others have others."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.data.identifiers import (
    IDENTIFIER_KINDS,
    PARTNERS,
    canonical_key,
    column_kind,
    may_hold_identifiers,
)

numbers = st.integers(1, 10**12)
sizes = st.sampled_from(["original", "large", "medium", "small", "square", "thumb"])
suffixes = st.sampled_from(["jpg", "jpeg", "JPG", "png", "gif"])
schemes = st.sampled_from(["http://", "https://", "HTTPS://", "//", ""])
tails = st.sampled_from(["", "/", "?1545345", "?size=3&a=b", "/?x=y", "#top", "/?r=https://example.org/photos/5"])
kinds = st.sampled_from([*IDENTIFIER_KINDS, None])
hosts = st.sampled_from(["example.org", "live.example.co.uk", "bird-photos.net"])
paths = st.lists(st.text("abcXYZ019-_", min_size=1, max_size=6), min_size=1, max_size=4).map("/".join)
BUCKETS = (
    *("inaturalist-open-data.s3.amazonaws.com", "inaturalist-open-data.s3.us-east-1.amazonaws.com"),
    *("s3.amazonaws.com/inaturalist-open-data", "static.inaturalist.org"),
)


@st.composite
def photo_forms(draw: st.DrawFn, number: int) -> str:
    """One of the ways to write a photo."""
    where = draw(st.sampled_from(BUCKETS))
    stored = f"{draw(schemes)}{where}/photos/{number}/{draw(sizes)}.{draw(suffixes)}{draw(tails)}"
    site = draw(st.sampled_from(sorted(PARTNERS)))
    www = draw(st.sampled_from(["", "www.", "WWW."]))
    page = f"{draw(schemes)}{www}{site}/photos/{number}{draw(tails)}"
    original = quote(f"https://{where}/photos/{number}/original.jpg", safe="")
    held = f"https://api.gbif.org/v1/image/unsafe/fit-in/500x/{original}"
    archived = f"https://web.archive.org/web/20200101000000/https://www.inaturalist.org/photos/{number}"
    bucket = f"s3://inaturalist-open-data/photos/{number}/{draw(sizes)}.jpg"
    local = f"photos/{number}/{draw(sizes)}.jpg"
    return draw(st.sampled_from([stored, page, held, archived, bucket, local, f" {stored}\n"]))


@st.composite
def observation_forms(draw: st.DrawFn, number: int) -> str:
    """One of the ways to write an observation."""
    site = draw(st.sampled_from(["www.inaturalist.org", "inaturalist.org", "spain.inaturalist.org", *sorted(PARTNERS)]))
    page = f"{draw(schemes)}{site}/observations/{number}{draw(tails)}"
    api = f"https://api.inaturalist.org/v1/observations/{number}"
    return draw(st.sampled_from([page, api, f"https://www.inaturalist.org/observations/{number}.json"]))


@given(st.data(), numbers, kinds)
def test_every_form_of_a_photo_has_its_key(data: st.DataObject, number: int, kind) -> None:
    assert canonical_key(data.draw(photo_forms(number)), kind) == f"photo:{number}"


@given(st.data(), numbers, kinds)
def test_every_form_of_an_observation_has_its_key(data: st.DataObject, number: int, kind) -> None:
    assert canonical_key(data.draw(observation_forms(number)), kind) == f"observation:{number}"


@given(st.text() | hosts.flatmap(lambda host: paths.map(lambda path: f"https://{host}/{path}")), kinds, kinds)
def test_a_key_is_its_own_key(text: str, kind, other) -> None:
    key = canonical_key(text, kind)
    assert canonical_key(key, other) == key
    assert key == "" or key.partition(":")[0] in IDENTIFIER_KINDS


@given(st.data(), numbers, kinds)
def test_the_key_of_a_form_is_its_own_key(data: st.DataObject, number: int, kind) -> None:
    key = canonical_key(data.draw(photo_forms(number) | observation_forms(number)))
    assert canonical_key(key, kind) == key


@given(st.sampled_from(["photo", "observation", "occurrence"]), numbers)
def test_a_bare_number_is_what_its_column_says(kind, number: int) -> None:
    forms = {canonical_key(form, kind) for form in (str(number), f"00{number}", f" {number} ", f"{number}.0")}
    assert forms == {f"{kind}:{number}"}
    assert canonical_key(str(number)) == ""


@given(hosts, paths, schemes, st.sampled_from(["", "www.", "WWW."]), st.sampled_from(["", "/", ":80/", ":443"]))
def test_scheme_www_slash_and_usual_ports_do_not_matter(host: str, path: str, scheme: str, www: str, end: str) -> None:
    port, slash = end.rstrip("/"), "/" * end.endswith("/")
    assert canonical_key(f"{scheme}{www}{host}{port}/{path}{slash}") == canonical_key(f"https://{host}/{path}")


@given(hosts, paths, st.sampled_from(["", "?v=2", "#x", "?a=b&c"]))
def test_a_pictures_query_does_not_matter_and_a_pages_does(host: str, path: str, tail: str) -> None:
    assert canonical_key(f"https://{host}/{path}.jpg{tail}") == f"url:{host}/{path}.jpg"
    queried = tail.startswith("?")
    assert (canonical_key(f"https://{host}/{path}{tail}") == canonical_key(f"https://{host}/{path}")) is not queried


@given(st.data(), numbers, numbers)
def test_other_numbers_have_other_keys(data: st.DataObject, one: int, other: int) -> None:
    keys = [canonical_key(data.draw(photo_forms(number))) for number in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("https://www.gbif.org/occurrence/0099", "occurrence:99"),
        ("https://api.gbif.org/v1/image/cache/300x/occurrence/99/media/AB01", "url:gbif.org/occurrence/99/media/ab01"),
        ("http://api.gbif.org/v1/image/cache/occurrence/99/media/ab01", "url:gbif.org/occurrence/99/media/ab01"),
        (
            "https://www.inaturalist.org/observations/0A1B2C3D-0000-4000-8000-00000000000F",
            "observation:0a1b2c3d-0000-4000-8000-00000000000f",
        ),
        ("https://www.inaturalist.org/taxa/17", "url:inaturalist.org/taxa/17"),
        ("https://example.org/photos/17/medium.jpg", "url:example.org/photos/17/medium.jpg"),
        ("https://www.inaturalist.org/photos/17abc", "url:inaturalist.org/photos/17abc"),
        ("photos/2019/pigeon.jpg", ""),
        ("17.jpg", ""),
        ("https://[broken/17", ""),
        ("https://example.org:x/17", ""),
        ("", ""),
    ],
)
def test_what_else_is_met(text: str, key: str) -> None:
    assert canonical_key(text) == key


def test_a_file_in_a_column_of_photos_and_an_id_that_is_no_number() -> None:
    assert canonical_key("0017.jpg", "photo") == "photo:17"
    assert canonical_key("OBS-1", "observation") == "observation:obs-1"
    assert canonical_key("word", "url") == canonical_key("photo:") == ""


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        *[
            ("photo_id", "photo"),
            ("iNat photo ID", "photo"),
            ("photo_uuid", "photo"),
            ("observation_id", "observation"),
        ],
        *[("obs_id", "observation"), ("gbifID", "occurrence"), ("id", None), ("taxon_id", None), ("photo_url", None)],
        *[("observation_date", None), ("occurrenceID", None)],
    ],
)
def test_a_columns_name_says_what_its_numbers_are(column: str, kind: str | None) -> None:
    assert column_kind(column) == kind


def test_which_columns_may_hold_identifiers() -> None:
    assert all(
        map(
            may_hold_identifiers,
            ("source_url", "occurrenceID", "references", "gbifID", "image", "file_name", "photo_id"),
        )
    )
    assert not any(map(may_hold_identifiers, ("id", "species", "latitude", "license", "uuid")))
