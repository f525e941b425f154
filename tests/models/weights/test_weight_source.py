"""Where weights are, their digests, and sentences about weights that are absent or do not fit."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from eyechart.errors import ModelError
from eyechart.models.weights.weight_source import (
    WeightSource,
    check_state_dict_fits,
    digest,
    explain_load_errors,
    hub_file,
    hub_folder,
    read_state_dict,
)

FIRST, SECOND = "a" * 40, "b" * 40


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_the_digest_of_several_files_has_their_names_and_not_their_order(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.bin", b"1"), write(tmp_path / "two.bin", b"2")
    assert digest(one) == sha256(b"1").hexdigest()
    assert digest(one, two) == digest(two, one)
    swapped = [write(tmp_path / "swapped" / name, data) for name, data in (("one.bin", b"2"), ("two.bin", b"1"))]
    assert digest(*swapped) != digest(one, two)
    moved = [write(tmp_path / "moved" / path.name, path.read_bytes()) for path in (one, two)]
    assert digest(*moved) == digest(one, two)
    with pytest.raises(ModelError, match=r"^The weights file .*gone\.bin cannot be read: No such file or directory\."):
        digest(one, tmp_path / "gone.bin")


@pytest.fixture
def cached(empty_hub: Path) -> Path:
    """A repository in the hub's cache, with two commits."""
    repository = empty_hub / "models--owner--net"
    write(repository / "refs" / "main", FIRST.encode())
    write(repository / "snapshots" / FIRST / "second.bin", b"1")
    write(repository / "snapshots" / FIRST / "third.bin", b"1")
    write(repository / "snapshots" / SECOND / "first.bin", b"2")
    return repository / "snapshots"


def test_the_first_file_that_the_cache_has_is_taken(cached: Path) -> None:
    names = ("first.bin", "second.bin", "third.bin")
    assert hub_file("owner/net", names, offline=True) == WeightSource(cached / FIRST / "second.bin", FIRST)
    assert hub_file(f"owner/net@{SECOND}", names, offline=True) == WeightSource(cached / SECOND / "first.bin", SECOND)
    with pytest.raises(ModelError) as raised:
        hub_file("owner/net", ("fourth.bin",), offline=True)
    assert str(raised.value) == (
        "fourth.bin of owner/net is not on this machine, and --eye-offline forbids fetching it. Leave --eye-offline "
        "out once, or run `hf download owner/net fourth.bin`, or name a local copy by its path."
    )


def test_a_folder_is_local_or_of_the_hub(cached: Path, tmp_path: Path) -> None:
    assert hub_folder(str(tmp_path), ("*.bin",), offline=True) == WeightSource(tmp_path)
    assert hub_folder("owner/net", ("*.bin",), offline=True) == WeightSource(cached / FIRST, FIRST)
    assert hub_folder(f"owner/net@{SECOND}", ("*.bin",), offline=True) == WeightSource(cached / SECOND, SECOND)
    with pytest.raises(ModelError, match=r"^'no such/folder/here' is neither a local path nor a name on the hub"):
        hub_folder("no such/folder/here", ("*.bin",), offline=True)


@pytest.mark.parametrize("name", ["net.safetensors", "net.pt", "net.ckpt"])
def test_weights_are_read_from_safetensors_pickles_and_checkpoints_of_training(tmp_path: Path, name: str) -> None:
    state = {"weight": torch.arange(6.0).reshape(2, 3), "bias": torch.ones(2)}
    if name == "net.safetensors":
        save_file(state, tmp_path / name)
    else:
        torch.save({"state_dict": state, "epoch": 3} if name == "net.ckpt" else state, tmp_path / name)
    read = read_state_dict(tmp_path / name)
    assert read.keys() == state.keys()
    assert all(torch.equal(read[key], state[key]) for key in state)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_program_of_torchscript_is_named(tmp_path: Path) -> None:
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "net.pt")
    with (
        pytest.raises(ModelError, match=r"net\.pt is a program of TorchScript.* Save its state dict alone"),
        explain_load_errors(tmp_path / "net.pt", "resnet18"),
    ):
        read_state_dict(tmp_path / "net.pt")


def test_weights_that_do_not_fit_are_named_a_few_of_each_kind() -> None:
    expected: dict[str, Any] = {name: torch.zeros(2, 3) for name in ("a", "b", "c", "d", "e", "f")}
    check_state_dict_fits(Path("net.pt"), "vit", expected, dict(expected))
    loaded = {"e": torch.zeros(3, 2), "f": torch.zeros(2, 3), "g": torch.zeros(1)}
    with pytest.raises(ModelError) as raised:
        check_state_dict_fits(Path("net.pt"), "vit", expected, loaded)
    assert str(raised.value) == (
        "The weights file net.pt does not fit vit: missing: a, b, c and 1 more; unexpected: g; of another shape: e "
        "(3, 2) instead of (2, 3). Name the architecture that it was saved from, or another file."
    )
