"""Published numbers: the twenty of open_clip's own results, and ours beside them."""

import re
from collections.abc import Sequence

import pytest

from eyechart.classification.protocols.knn import KNearestNeighbours
from eyechart.classification.protocols.published_values import published_top1
from eyechart.classification.protocols.zero_shot import ZeroShot
from eyechart.models.spec import parse_spec
from eyechart.results.records import Metric, Reported

PROTOCOLS = """
ViT-B-32 laion2b_s34b_b79k 0.6656 | ViT-H-14 laion2b_s32b_b79k 0.7796
ViT-B-32-quickgelu openai 0.6332 | ViT-g-14 laion2b_s34b_b88k 0.7847
ViT-B-32 datacomp_xl_s13b_b90k 0.6917 | ViT-bigG-14 laion2b_s39b_b160k 0.8009
ViT-B-16 openai 0.6834 | ViT-B-16-SigLIP webli 0.7604
ViT-B-16 laion2b_s34b_b88k 0.7023 | ViT-L-16-SigLIP-384 webli 0.8207
ViT-B-16 datacomp_xl_s13b_b90k 0.7349 | ViT-SO400M-14-SigLIP webli 0.8203
ViT-L-14 openai 0.7554 | ViT-SO400M-14-SigLIP-384 webli 0.8308
ViT-L-14-336 openai 0.7656 | ViT-H-14-378-quickgelu dfn5b 0.8437
ViT-L-14 laion2b_s32b_b82k 0.7525 | RN50 openai 0.5982
ViT-L-14 datacomp_xl_s13b_b90k 0.7921 | RN50x64 openai 0.7391
"""
ROWS = [row.split() for row in re.split(r"[|\n]", PROTOCOLS) if row.strip()]
OURS = Metric(name="acc1", labels="ImGT", value=0.5, n=50_000, n_clusters=50_000, ci=(0.4, 0.6), ci_method="wilson")


def beside(model: str, split: str = "imagenet/val", ours: Sequence[Metric] = (OURS,)) -> Reported | None:
    """What the protocol says was published."""
    return ZeroShot().reported(split, parse_spec(model), ours)


def test_there_are_twenty_numbers() -> None:
    assert len(published_top1()) == len(ROWS) == 20


@pytest.mark.parametrize(("model", "tag", "top1"), ROWS)
def test_every_number_stands_beside_ours(model: str, tag: str, top1: str) -> None:
    found = beside(f"open_clip[{model},pretrained={tag}]")
    assert found is not None
    assert (found.value, found.source) == (float(top1), "open_clip results")
    assert found.delta == pytest.approx(0.5 - float(top1))


def test_mills_spelling_is_the_same_model() -> None:
    assert beside("clip[path=RN50,pretrained=openai]")


@pytest.mark.parametrize("name", ["ViT-B-32", "ViT-B-16-quickgelu"])
def test_openai_weights_are_found_with_or_without_quick_gelu_in_the_name(name: str) -> None:
    assert beside(f"open_clip[{name},pretrained=openai]")


@pytest.mark.parametrize(
    ("model", "split"),
    [
        ("open_clip[ViT-B-32-quickgelu,pretrained=laion2b_s34b_b79k]", "imagenet/val"),
        ("open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]", "imagenet/sample"),
        ("timm[ViT-B-32,pretrained=laion2b_s34b_b79k]", "imagenet/val"),
        ("open_clip[]", "imagenet/val"),
    ],
)
def test_nothing_stands_beside_another_model_or_split(model: str, split: str) -> None:
    assert beside(model, split) is None


def test_nothing_stands_beside_another_protocol() -> None:
    model = parse_spec("open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]")
    assert KNearestNeighbours().reported("imagenet/val", model, [OURS]) is None


def test_without_a_number_of_ours_there_is_no_difference() -> None:
    found = beside("open_clip[RN50,pretrained=openai]", ours=())
    assert found is not None
    assert found.delta is None
