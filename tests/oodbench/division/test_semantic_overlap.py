"""A category is named by whole words, in any number, case and company, and by nothing less."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError
from eyechart.oodbench.division.semantic_overlap import _name_forms, _normalize_texts, semantic_overlap

WORD = st.text("abcdehnosty", min_size=2, max_size=8)
NAME = st.lists(WORD, min_size=1, max_size=3).map(" ".join)
THING = st.sampled_from(["cat", "cats", "caterpillar", "hot", "dog", "hot dogs", "hotdog"])
OTHERS = st.lists(st.sampled_from(["a", "of", "red", "0", "|", "—", "!", "ß", "\u200b"]), max_size=4).map(" ".join)


def named(category: str, *texts: str, **synonyms: list[str]) -> bool:
    return bool(semantic_overlap(["1.jpg"], [category], {"1": ["", *texts]}, synonyms).flags[0])


@pytest.mark.parametrize(
    ("category", "text"),
    [
        ("cat", "Two cats sleep."),
        ("cat", "The CAT's tail"),
        ("cat", "a “cat”\u200b"),
        ("cats", "a cat"),
        ("hot dog", "Hot-dogs on a plate"),
        ("hot dog", "a hotdog"),
        ("hot_dog", "a hot\tdog"),
        ("person", "People wait"),
        ("people", "a person"),
        ("bus", "buses"),
        ("couch", "couches"),
        ("berry", "berries"),
        ("knife", "knives"),
        ("shelf", "shelves"),
        ("potato", "potatoes"),
        ("toy", "toys"),
        ("policeman", "policemen"),
        ("human", "humans"),
        ("skis", "one ski"),
        ("scissors", "a scissor"),
        ("glasses", "a glass"),
        ("shoes", "a shoe"),
        ("boxes", "a box"),
        ("leaves", "a leaf"),
        ("cookies", "a cookie"),
        ("wine glass", "wine glasses"),
        ("кот", "чёрный КОТ"),
        ("café", "CAFE\u0301"),
        ("straße", "STRASSE"),
    ],
)
def test_it_is_named(category, text):
    assert named(category, text)


@pytest.mark.parametrize(
    ("category", "text"),
    [
        ("cat", "A caterpillar, a bobcat and a catty remark"),
        ("car", "a carpet in a scar"),
        ("hot dog", "It is hot. Dogs bark."),
        ("hot dog", "hot\ndog"),
        ("hot dog", "dog hot"),
        ("wine glass", "a glass of wine"),
        ("bus", "a bu"),
        ("glass", "a glas"),
        ("tennis", "a tenni"),
        ("cafe", "caves"),
        ("lens", "Len"),
        ("tie", "ty"),
        ("cat", ""),
    ],
)
def test_it_is_not_named(category, text):
    assert not named(category, text)


@given(NAME, OTHERS, OTHERS, st.sampled_from([str.upper, str.title, str.lower]))
def test_a_name_is_found_between_other_words(name, before, after, case):
    assert named(name, "nothing", f"{before} {case(name)} {after}")


@given(NAME, WORD)
def test_a_part_of_a_word_is_no_name(name, rest):
    assert not named(name, f"{name}x{rest} x{name} {rest}x{name}x")


@given(THING, st.lists(THING, max_size=4))
def test_words_of_several_texts_are_no_phrase(name, texts):
    alone = [named(name, text) for text in texts]
    assert named(name, *texts) == any(alone)


@given(THING, st.lists(THING, max_size=3), st.lists(THING, max_size=3))
def test_more_texts_and_synonyms_never_unsay_a_name(name, texts, more):
    before = named(name, *texts)
    assert named(name, *texts, *more) >= before
    assert named(name, *texts, **{name: more}) >= before


@given(NAME, NAME)
def test_a_synonym_counts_as_the_name(name, other):
    assert named(name, f"one {other}", **{name: [other]})


@given(st.lists(NAME, min_size=1, max_size=3), st.lists(st.text(max_size=20), max_size=3))
def test_everything_is_spelled_in_single_spaces(names, texts):
    for spelled in (_normalize_texts(texts), *_name_forms(names)):
        assert spelled.split() == spelled.strip().split(" ") or not spelled.strip()
        assert spelled == f" {spelled.strip()} " or spelled == "  "


def test_pairs_are_flagged_in_their_order_and_unread_images_do_not_overlap():
    texts = {"1": ["A dog", "Two cats"], "2": ["A cat"], "4": []}
    found = semantic_overlap(["a/2.png", "1.jpg", "3", "1", "4"], ["dog", "cat", "cat", "dog", "dog"], texts)
    assert found.flags.tolist() == [False, True, False, True, False]
    assert found.has_text.tolist() == [True, True, False, True, False]
    assert (found.hits, found.rate) == (2, 0.4)


def test_no_pairs_overlap_by_nothing():
    assert math.isnan(semantic_overlap([], [], {}).rate)


def test_a_corpus_of_other_images_is_refused():
    with pytest.raises(DataError, match="images: it has no images, the division's first image is '1'"):
        semantic_overlap(["1", "2"], ["cat", "dog"], {})
    with pytest.raises(
        DataError, match="none of the division's 2 images: its first image is '9', the division's first image is '1'"
    ):
        semantic_overlap(["1.jpg", "2.jpg"], ["cat", "cat"], {"9": ["A cat"]})


@pytest.mark.parametrize("arguments", [(["1"], [], {}), (["1"], ["?!"], {"1": ["x"]})])
def test_it_refuses_what_is_no_pair(arguments):
    with pytest.raises(ValueError, match=r"^(Expected as many images|Expected a category name)"):
        semantic_overlap(*arguments)
