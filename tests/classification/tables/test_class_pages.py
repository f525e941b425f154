"""What the tables of classification have in common."""

import pandas as pd

from eyechart.classification.tables.class_pages import single_labels


def test_several_labels_of_one_group_of_equivalent_classes_are_a_single_label() -> None:
    outcomes = pd.DataFrame(
        {
            "labels": ["713;742", "3;17", "5", ""],
            "category": ["single_label_original", "multi_label_other", "single_label_other", "no_label"],
        }
    )
    assert single_labels(outcomes).tolist() == [713, -1, 5, -1]
