"""The classes of the toy world: their names, their hierarchy and which of them show one kind of thing."""

from eyechart.data.labels.class_names import check_unique
from eyechart.toybox.art.toy_classes import BIRDS, classes, equivalences, equivalent_classes, names


def test_there_are_about_a_hundred_classes_with_names_of_their_own() -> None:
    assert 100 <= len(names()) <= 130
    check_unique(names())


def test_at_least_fifteen_classes_are_birds() -> None:
    assert sum(one.subgroup == BIRDS for one in classes()) >= 15


def test_the_hierarchy_has_two_levels() -> None:
    groups = {one.subgroup: one.group for one in classes()}
    assert all(groups[one.subgroup] == one.group for one in classes())
    assert 1 < len({*groups.values()}) < len(groups) < len(classes())


def test_equivalent_classes_are_pairs_of_one_subgroup() -> None:
    assert len(equivalences()) >= 10
    assert all(classes()[one].subgroup == classes()[two].subgroup for one, two in equivalences())
    dog, face = names().index("dog"), names().index("dog face")
    assert equivalent_classes(dog) == equivalent_classes(face) == {dog, face}
