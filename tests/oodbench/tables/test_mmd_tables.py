"""How far the out-of-distribution pairs of two splits are apart, beside the limit that the paper sets."""

import pytest

from eyechart.errors import ReportError

KINDS = ("mmd2", "mmd2_tau", "mmd2_null", "mmd2_p")


@pytest.fixture
def apart(bench):
    """Two encoders of COCO, the second at a lower interval; and one of LVIS without a value."""
    for name, high in (("hf_clip[a]", 4.21e-4), ("hf_clip[b]", 5e-4)):
        values = zip(KINDS, (3e-4, 4.47e-4, 2e-4, 0.012), ((1.84e-4, high), None, None, None), strict=True)
        metrics = [(kind, "OOD", value, 900, ci) for kind, value, ci in values]
        bench.case("distribution", name, metrics=metrics, reference="oodbench/coco-train", bandwidth=f"{high}")
    bench.case("distribution", "hf_clip[a]", "lvis", metrics=[("mmd2", "OOD", None, 0)], reference="oodbench/x")
    return bench


def test_the_distance_stands_beside_its_limit_and_what_permutations_make_of_it(apart):
    (table,) = apart.tables("oodbench-mmd")
    first, *_ = apart.rows("oodbench-mmd")
    assert (first["Encoder"], first["Data"], first["Reference"]) == ("hf_clip[a]", "COCO", "coco-train")
    heads = ("MMD² · 10⁴", "MMD² · 10⁴ low", "MMD² · 10⁴ n", "τ · 10⁴", "UCI · 10⁴", "p")
    assert [first[head] for head in heads] == ["3.000", "1.840", "900", "4.470", "2.000", "0.0120"]
    assert sum("distribution:" in note for note in table.notes) == 1


def test_equivalence_is_said_by_the_papers_rule_and_by_the_interval(apart):
    rows = apart.rows("oodbench-mmd")
    assert [(row["UCI < τ"], row["Interval < τ"]) for row in rows] == [("yes", "yes"), ("", ""), ("yes", "no")]


def test_without_a_reference_the_remedy_is_named(bench):
    bench.case("detection")
    with pytest.raises(ReportError, match=r"--eye-set=distribution.reference=oodbench/coco-train"):
        bench.rows("oodbench-mmd")
