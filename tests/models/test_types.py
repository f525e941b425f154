"""What models take and return: identities, requests and counts of tokens."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.models.types import Identity, Request, Usage


def test_an_identity_takes_what_a_program_has_at_hand() -> None:
    """Versions, types, paths, sizes and arrays of libraries are values of JSON in records and keys."""
    import torch

    version = type("TorchVersion", (str,), {})("2.1")
    made = Identity(
        backend="a",
        name=Path("b"),
        weights_sha256=b"\x01",
        dtype=torch.float16,
        device=torch.device("cpu"),
        processor={"size": torch.Size([2]), "mean": np.float32(0.5), "of": {"b", "a"}, "at": Path("c"), "f": object()},
        libraries={"torch": version, "n": 3},
    )
    assert (made.name, made.weights_sha256, made.dtype, made.device) == ("b", "01", "float16", "cpu")
    assert made.processor == {"size": [2], "mean": 0.5, "of": ["a", "b"], "at": "c", "f": "<object object>"}
    assert made.libraries == {"torch": "2.1", "n": "3"}
    assert type(made.libraries["torch"]) is str


def test_the_key_of_an_identity_is_that_of_another_device_and_build() -> None:
    how = {"backend": "a", "name": "b", "weights_sha256": "c", "dtype": "float32", "processor": {"size": 2}}
    gpu = Identity(**how, device="cuda", libraries={"torch": "2.9.0+cu130"})
    cpu = Identity(**how, device="cpu", libraries={"torch": "2.9.0+cpu"})
    assert gpu.in_key == cpu.in_key != gpu
    assert Identity(**how, device="cpu", libraries={"torch": "2.9.1+cpu"}).in_key != cpu.in_key


def test_a_request_has_a_file_for_each_image_or_none() -> None:
    image = Image.new("RGB", (2, 2))
    assert Request(("what?", image, "or", image), (b"a", b"b")).images == (image, image)
    with pytest.raises(ValueError, match=r"^A request has 2 images but 1 files\. Expected one each\.$"):
        Request((image, "what?", image), (b"a",))


def test_counts_of_tokens_add_up_and_have_the_thinking_part_only_where_there_is_one() -> None:
    plain, thinking = Usage(7, 3, 2), Usage(10, 0, 5, 4)
    assert plain + thinking == Usage(17, 3, 7, 4)
    assert (plain.counts, thinking.counts) == ((7, 3, 2), (10, 0, 5, 4))
