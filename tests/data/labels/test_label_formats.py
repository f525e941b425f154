"""Tests of `eyechart.data.labels.label_formats`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.data.labels.label_files import (
    read_labels,
)
from eyechart.data.labels.label_formats import FORMATS
from eyechart.errors import DataError
from tests.data.labels.label_file_texts import EXPERT, ONE, SHANKAR, THREE, TWO, jsonl

Write = Callable[..., Path]


def test_real_json_is_in_the_order_of_the_validation_images(write: Write) -> None:
    found = read_labels(write([[5, 3], [], *[[7]] * 49_998]))
    assert (found.format, len(found.labels)) == ("real", 50_000)
    assert (found.labels[ONE], found.labels[TWO]) == ((5, 3), ())
    assert list(found.labels)[-1] == "ILSVRC2012_val_00050000.JPEG"


def test_reimagenet_drops_what_the_annotators_were_not_sure_of(write: Write) -> None:
    found = read_labels(write(jsonl((ONE, [5, -1, 5]), (TWO, [-1]), (THREE, [])) + "\n"))
    assert found.format == "reimagenet"
    assert found.labels == {ONE: (5,), TWO: (), THREE: ()}


def test_kisels_csv_has_commas_within_a_field(write: Write) -> None:
    head = "id,category,original_label,proposed_labels,manually_validated"
    found = read_labels(write(f'{head}\r\n{ONE},M,601,"689, 601",True\r\n{TWO},N,3,,False\r\n'))
    assert (found.format, found.labels) == ("kisel", {ONE: (689, 601), TWO: ()})


def test_multilabel_leaves_problematic_images_open(write: Write) -> None:
    found = read_labels(write(SHANKAR))
    assert found.format == "multilabel"
    assert found.labels == {TWO: (1,), THREE: (), "0af3f1b55de791c4144e2fb6d7dfe96dfc22d3fc.jpeg": (0,)}


def test_imagenet_m_counts_unclear_labels_of_its_images(write: Write) -> None:
    assert read_labels(write(SHANKAR), "imagenet-m").labels == {TWO: (1, 0)}


def test_missing_parts_of_the_multilabel_file_are_accepted(write: Write) -> None:
    path = write({"initial_annots": {ONE: {}}})
    assert read_labels(path).labels == {ONE: ()}
    assert read_labels(path, "imagenet-m").labels == {}


def test_expert_labels_leave_uncertain_images_open(write: Write) -> None:
    found = read_labels(write(EXPERT))
    assert (found.format, found.labels) == ("expert", {ONE: (357,), TWO: (356,), THREE: ()})


def test_imagenet_m_without_annotations_is_refused(write: Write) -> None:
    with pytest.raises(DataError, match="which is not in initial_annots"):
        read_labels(write({"initial_annots": {}, "imagenet_m": [ONE]}), "imagenet-m")


def test_every_format_has_a_reader_with_its_source() -> None:
    assert all(reader.__doc__ for reader in FORMATS.values())
