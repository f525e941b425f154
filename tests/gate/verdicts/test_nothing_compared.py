"""What is said where nothing was compared: which cases and models, what the baseline has instead, and the remedy."""

from typing import Any

from eyechart.gate.verdicts.verdict_messages import (
    explain_no_number,
    explain_nothing_compared,
    explain_nothing_recorded,
)

UPDATE = "write the baseline with --eye-update-baseline"
PATHS = "Where these are other checkpoints of one model, give both the same name"


def case(make: Any, model: str, benchmark: str = "imagenet", protocol: str = "mcq") -> Any:
    return make([], case=f"{benchmark}/val/{model}", model=model, protocol=protocol)


def test_a_baseline_of_other_benchmarks_is_said_to_have_none(make: Any) -> None:
    ran = [case(make, "m[]", "pairs"), case(make, "m[]", "birds"), case(make, "n[]", "birds")]
    assert explain_nothing_compared(ran, [case(make, "m[]")], "kept") == (
        "nothing was compared: --eye-baseline=kept has no baseline of the 3 cases that ran (models: m[], n[]). It has "
        f"none of birds, pairs: {UPDATE}, or name another."
    )


def test_other_cases_of_the_models_that_ran_are_named(make: Any) -> None:
    known = [case(make, "m[]", protocol="zero_shot"), case(make, "n[]"), case(make, "m[]", "birds")]
    assert explain_nothing_compared([case(make, "m[]")], known, "kept") == (
        "nothing was compared: --eye-baseline=kept has no baseline of the case that ran (models: m[]). Of these models "
        f"it has imagenet/val/m[] (zero_shot). Run these, or {UPDATE}."
    )


def test_a_name_that_the_baseline_knows_is_offered_for_the_model_that_ran(make: Any) -> None:
    known = [case(make, model) for model in ("a[path=1]", "prod", "prod", "test")] + [case(make, "x", "birds")]
    said = explain_nothing_compared([case(make, "named"), case(make, "m[path=2]")], known, "kept")
    assert said == (
        "nothing was compared: --eye-baseline=kept has no baseline of the 2 cases that ran (models: named, m[path=2])."
        " Its models for imagenet: a[path=1], prod, test. Give the model the name that the baseline knows: "
        f"--eye-model=prod=m[path=2]; or {UPDATE}."
    )
    assert "--eye-model=prod=SPEC; or" in explain_nothing_compared([case(make, "named")], known, "kept")


def test_where_the_baseline_knows_no_name_both_sides_are_to_be_given_one(make: Any) -> None:
    assert explain_nothing_compared([case(make, "m[path=2]")], [case(make, "m[path=1]")], "kept").endswith(
        f"Its models for imagenet: m[path=1]. {PATHS}: {UPDATE} and --eye-model=NAME=m[path=1], then compare with "
        "--eye-model=NAME=m[path=2]."
    )


def test_five_names_are_written_out_and_more_are_counted(make: Any) -> None:
    for models, said in ((5, "m0[], m1[], m2[], m3[], m4[]. Where"), (6, "m0[], m1[], m2[], m3[], m4[] and 1 more.")):
        known = [case(make, f"m{number}[]") for number in range(models)]
        assert f"Its models for imagenet: {said}" in explain_nothing_compared([case(make, "n[]")], known, "kept")


def test_cases_without_a_number_are_counted_or_named(make: Any) -> None:
    start = "nothing was compared with --eye-baseline: "
    assert explain_nothing_recorded(1) == f"{start}no case recorded a number (1 case skipped)."
    assert explain_nothing_recorded(0) == f"{start}no case recorded a number (0 cases skipped)."
    said = explain_no_number([case(make, "m[]"), case(make, "n[]", "birds")])
    assert said.startswith(f"{start}imagenet/val/m[] (mcq), birds/val/n[] (mcq) recorded no number with a ")
