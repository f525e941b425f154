"""Options of processes on this machine and of a Ray cluster that cannot be used are refused before any case."""

import pytest


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--eye-ray-actors=2",), "Name one with --eye-ray"),
        (("--eye-ray=auto", "--eye-ray-actors=none"), "--eye-ray-actors must be a whole number from 1 up"),
        (("--eye-ray=auto", "-n2"), "Leave out -n of pytest-xdist"),
        (("--eye-devices=2", "-n2"), "Leave out -n, or --eye-devices"),
        (("--eye-devices=0",), "--eye-devices must be a whole number from 1 up"),
        (("--eye-devices=2", "--eye-ray=auto"), "Set the processes on a cluster with --eye-ray-actors"),
        (("--eye-ray=auto", "--eye-ray-gpus=tiny=1.5"), "a share of one GPU, such as 0.25, or a whole number"),
        (("--eye-ray=auto", "--eye-ray-gpus=tinny=1"), "--eye-ray-gpus=tinny: The model 'tinny[]' names the backend"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    pytester: pytest.Pytester, options: tuple[str, ...], said: str
) -> None:
    with pytest.raises(pytest.UsageError) as error:
        pytester.parseconfigure(*options)
    assert said in str(error.value)
