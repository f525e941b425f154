"""The grammar of models, by example."""

import pytest

from eyechart.errors import SpecError
from eyechart.models.spec import ModelSpec, parse_spec


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("conse", "conse[]"),
        ("conse[]", "conse[]"),
        ("open_clip[ViT-B-32, pretrained=laion2b]", "open_clip[ViT-B-32,pretrained=laion2b]"),
        ("knn[open_clip[ViT-B-32,pretrained=openai],k=11]", "knn[open_clip[ViT-B-32,pretrained=openai],k=11]"),
        (
            "conse[classifier=timm[resnet50,dtype=float32],top=5]",
            "conse[classifier=timm[resnet50,dtype=float32],top=5]",
        ),
        ("timm[a,b=2,a=1]", "timm[a,a=1,b=2]"),
        ("clip[path=ViT-B-32,pretrained=openai]", "open_clip[ViT-B-32,pretrained=openai]"),
        ("Qwen/Qwen3-VL-2B-Instruct[dtype=bfloat16]", "hf[Qwen/Qwen3-VL-2B-Instruct,dtype=bfloat16]"),
        ("replay[path=/data/run=3/answers.csv]", "replay[path=/data/run=3/answers.csv]"),
    ],
)
def test_a_specification_is_written_one_way(text: str, canonical: str) -> None:
    assert str(parse_spec(text)) == canonical


@pytest.mark.parametrize("text", ["", "[x]", "timm[x", "timm x]", "timm[x]y", "timm,conse", "a=b"])
def test_what_cannot_be_read_says_how_it_is_written(text: str) -> None:
    with pytest.raises(SpecError, match=r"cannot be read\. Expected backend\[argument,option=value"):
        parse_spec(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("timm[a[b]", "leaves a bracket open"),
        ("timm[x],conse[]", "closes a bracket that it never opened"),
        ("timm[a]b]", "closes a bracket that it never opened"),
        ("timm[k=1,k=2]", "has the option 'k' twice"),
    ],
)
def test_a_slip_is_named(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        parse_spec(text)


def test_a_backend_refuses_what_it_does_not_know() -> None:
    spec = ModelSpec("timm", ("a", "b"), {"dtpye": "float32"})
    with pytest.raises(SpecError, match=r"has 2 plain arguments; timm takes 1\."):
        spec.check(arguments=1, options=())
    with pytest.raises(SpecError, match=r"timm does not know; did you mean dtype\? Its options are: dtype"):
        spec.check(arguments=2, options=("dtype",))
