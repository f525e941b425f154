"""Names of birds in words."""

from typing import Any

import pytest

from eyechart.realbirdid.answers.bird_vocabulary import ABSTAIN, BirdVocabulary

READ = [  # a text, the name that it means, and that of a text that is nothing but a name
    ("Corvus corax", "Corvus corax", "Corvus corax"),
    ("corvus corax.", "Corvus corax", "Corvus corax"),
    ("The answer is Common Raven", "Common Raven", "Common Raven"),
    ("It is a common raven (Corvus corax), of the genus Corvus.", "Corvus corax", ""),
    ("Corvus", "Corvus", "Corvus"),
    ("A Corvus of some kind", "Corvus", ""),
    ("Either Corvus corax or Carrion Crow", "Corvus", ""),
    ("Corvus corax or Turdus merula", "", ""),
    ("Turdus merula, not a Catharus", "Turdus merula", ""),
    ("Corvus or Turdus", "", ""),
    ("It is not a Common Raven.", "", ""),
    ("Common Raven, not a Carrion Crow", "Common Raven", ""),
    ("Is it a Common Raven or not? Common Raven.", "Common Raven", ""),
    ("The bird in it is __Corvus corax__.", "Corvus corax", ""),
    ("The image is too blurry to identify the bird.", ABSTAIN, ""),
    ("There is not enough information to name the species.", ABSTAIN, ""),
    ("a red winged thrush", "Turdus merula", "Red-winged Thrush"),
    ("a Thrush", "", ""),
    ("Anhinga", "Anhinga anhinga", "Anhinga"),
    ("Anhinga rufa", "Anhinga rufa", "Anhinga rufa"),
    ("I'm not sure, perhaps Corvus corone", "Corvus corone", ""),
    ("I cannot tell, but it is a Turdus", "Turdus", ""),
    ("I cannot tell.", ABSTAIN, ""),
    ("cannot tell", ABSTAIN, ABSTAIN),
    ("Unknown", ABSTAIN, ""),
    ("Corvuscorax", "", ""),
    ("A small brown bird", "", ""),
    ("…", "", ""),
]


def said(names: BirdVocabulary, index: int) -> str:
    return names.choices[index] if index >= 0 else ""


@pytest.mark.parametrize(("text", "wanted", "plain"), READ)
def test_a_text_names_a_bird(taxonomy: Any, text: str, wanted: str, plain: str) -> None:
    names = BirdVocabulary.from_taxonomy(taxonomy)
    read, exact = names.parse(text), names.parse_exact(text)
    assert (names.taxa[read] if read >= 0 else None) == (
        names.taxa[names.choices.index(wanted)] if wanted in names.choices else None
    )
    assert said(names, exact) == plain


def test_all_names_are_choices_once(taxonomy: Any) -> None:
    names = BirdVocabulary.from_taxonomy(taxonomy)
    assert names.shared == ("Thrush",)
    assert len({name.casefold() for name in names.choices}) == len(names.choices) == 7 + 4 + 3 + 1
    assert names.taxa[names.choices.index("Anhinga")] == (2, 1)


def test_every_name_means_itself(taxonomy: Any) -> None:
    names = BirdVocabulary.from_taxonomy(taxonomy)
    for index, name in enumerate(names.choices):
        assert names.parse_exact(name) == index
        assert names.taxa[names.parse(name)] == names.taxa[index]
