"""Tests of `eyechart.classification.tables.weasel`."""

from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from tests.classification.tables.table_rows import golden, of, read

TIMM = "timm[tf_efficientnet_lite0]"


def test_table_9_treats_the_original_labels_as_predictions(table):
    labels, model = of(table("T9"), "ImGT"), of(table("T9"), TIMM)
    assert (labels["ImGT all"], labels["ImGT weasels"], labels["WeaselGT weasels"]) == ("100.00", "100.00", "75.00")
    assert (labels["ReGT all"], labels["ReGT all n"]) == ("76.47", "17")  # 13 of 17, the equivalent class among them
    family = [key for key in labels if key.startswith("WeaselGT")]
    assert [labels[key] for key in family] == [model[key] for key in family]  # the model repeats those labels
    assert (labels["WeaselGT S+"], labels["WeaselGT S-"]) == ("100.00", "0.00")


def published_weasels():
    """159 images with the sizes of the study, each class's original labels as right as its ImGT row says."""
    sizes = {row["category"]: int(row["images"]) for row in golden("sizes") if row["subset"] == "weasel family"}
    recall = golden("table_10")[0]
    for index, kind in enumerate(("weasel", "mink", "polecat", "domestic ferret")):
        right = round(float(recall[f"{kind} WeaselGT"]) * sizes[kind] / 100)
        for image in range(sizes[kind]):
            new = 356 + index
            yield new if image < right else 356 + (index + 1) % 4, (new,), (new,)


def test_the_first_rows_of_tables_9_and_10_are_the_published_ones(make_run):
    truths = tuple(published_weasels())
    runs = load([make_run(models={TIMM: ("supervised", [7] * len(truths))}, truths=truths)])
    ours, theirs = read(tables("T9", runs))[0], golden("table_9")[0]
    assert [ours[f"WeaselGT {name}"] for name in ("weasels", "weasels Δ", "S+", "S-")] == [
        theirs[f"WeaselGT {name}"] for name in ("A159", "A159 delta", "S+", "S-")
    ]
    recalls = read(tables("T10", runs))[0]
    kinds = [key for key in golden("table_10")[0] if key.endswith("WeaselGT")]
    assert [recalls[kind] for kind in kinds] == [golden("table_10")[0][kind] for kind in kinds]
