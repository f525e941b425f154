"""A typo is answered before anything runs, with the nearest name; options stand on the command line or in the ini."""

from typing import Any

import pytest

from eyechart.plugins.options import OPTIONS

pytestmark = pytest.mark.deep


def refusal(result: pytest.RunResult) -> str:
    """What a refused run says: one sentence, and no traceback."""
    said = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == pytest.ExitCode.USAGE_ERROR, said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    return said


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("--eye-modle=timm[x]", "--eye-modle is not an option of eyechart; did you mean --eye-model"),
        ("--eye-model=tmm[x]", "'tmm', which is not known; did you mean timm"),
        ("--eye-model=replay[path=a.csv,of=freeform]", "of=freeform is none of closed_world"),
        ("--eye-model=replay[path=a.csv,of=freeform]", "did you mean free_form"),
        ("--eye-model=timm[x", "The model 'timm[x' cannot be read. Expected backend[argument,option=value,…]"),
        ("--eye-names=mil", "did you mean mill"),
        ("--eye-templates=nam", "did you mean name"),
        ("--eye-limit=none", "10/class. Got 'none'"),
        ("--eye-limit=0", "10/class. Got '0'"),
        ("--eye-empty-labels=corect", "invalid choice: 'corect'"),
        ("--eye-labels=mine", "--eye-labels 'mine' cannot be read"),
        ("--eye-labels=mine=absent.csv", "absent.csv cannot be read"),
        ("--eye-equivalences=eleven", "The equivalences 'eleven' are neither '12' nor 'none'"),
        ("--eye-data=nowhere", "The data root nowhere is no folder"),
        ("--eye-sett=a.b=c", "--eye-sett is not an option of eyechart; did you mean --eye-set"),
        (
            "--eye-set=closed_world.image_ordr=random",
            "closed_world.image_ordr: there is no such option; did you mean image_order",
        ),
        (
            "--eye-set=closed_word.image_order=random",
            "The protocol 'closed_word' is not known; did you mean closed_world",
        ),
        ("--eye-set=order=random", "--eye-set 'order=random' cannot be read. Expected PROTOCOL.OPTION=VALUE"),
        (
            "--eye-set=supervised.image_order=random",
            "supervised.image_order: there is no such option. It has no options.",
        ),
        (
            "--eye-set=closed_world.image_order=randm",
            "--eye-set=closed_world.image_order does not know 'randm'; did you mean random? It takes",
        ),
        (
            "--eye-set=closed_world.image_order=random,,",
            "--eye-set=closed_world.image_order does not know ''. It takes random, same_class.",
        ),
        (
            "--eye-set=closed_world.answer=name,idd",
            "--eye-set=closed_world.answer does not know 'idd'; did you mean id",
        ),
        ("--eye-set=multiple_choice.setting=original+randm", "did you mean original+random"),
        (
            "--eye-set=closed_world.parser=mill",
            "closed_world.parser does not know 'mill'. It takes lenient, strict, authors.",
        ),
        (
            "--eye-set=existence.parser=lenient,mill",
            "existence.parser does not know 'mill'. It takes lenient, strict, authors.",
        ),
        (
            "--eye-set=closed_world.images_per_request=0",
            "--eye-set=closed_world.images_per_request takes whole numbers from 1 up. Got '0'",
        ),
        (
            "--eye-set=closed_world.images_per_request=1,five",
            "--eye-set=closed_world.images_per_request takes whole numbers from 1 up. Got 'five'",
        ),
        (
            "--eye-set=multiple_choice.epochs=-1",
            "multiple_choice.epochs takes whole numbers from 1 up. Got '-1'",
        ),
        (
            "--eye-set=closed_world.epochs=1.5",
            "--eye-set=closed_world.epochs takes whole numbers from 1 up. Got '1.5'",
        ),
        (
            "--eye-set=open_world.text_encoder=sentnce[minilm]",
            "open_world.text_encoder: The model 'sentnce[minilm]' names the backend 'sentnce'",
        ),
        (
            "--eye-set=multiple_choice.distractors=timm[x",
            "'[timm[x]' leaves a bracket open.",
        ),
        ("--eye-set=closed_world.prompt=closed_word", "did you mean closed_world"),
        (
            "--eye-set=open_world.text_templates=81",
            "open_world.text_templates: The templates '81' are neither",
        ),
    ],
)
def test_a_typo_is_refused_with_the_nearest_name(pytester: pytest.Pytester, given: str, sentence: str) -> None:
    assert sentence in refusal(pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", given))


@pytest.mark.parametrize("name", ["eye-margin", "EYE_MARGIN", "--eye-margin"])
def test_the_name_of_the_command_line_is_none_of_the_ini_file(pytester: pytest.Pytester, name: str) -> None:
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\n{name} = 0.01\n")
    said = refusal(pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks"))
    assert f"{name} in {pytester.path / 'pyproject.toml'} is not an option of eyechart; did you mean eye_margin" in said


def test_a_typo_is_refused_under_workers(world: Any) -> None:
    assert "did you mean mill" in refusal(world.run("-n2", "--eye-names=mil"))
    assert world.asked == 0


def test_a_typo_in_a_backends_option_is_refused(world: Any) -> None:
    world.models = ("tiny[batch_sizes=4]",)
    result = world.run("-k", "imagenet/tiny2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "'batch_sizes', which no parameter of Tiny takes; did you mean batch_size" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_help_names_every_option(pytester: pytest.Pytester) -> None:
    said = pytester.runpytest_inprocess("--help").stdout.str()
    everyday, advanced = said.index("eyechart: one test case for each"), said.index("eyechart: advanced options")
    assert everyday < said.index("--eye-model") < said.index("--eye-baseline") < advanced < said.index("--eye-alpha")
    for option in OPTIONS:
        assert option.flag_name in said
