"""Encoders that know birds, by open_clip's names: BioCLIP from the hub's cache or a folder, WildCLIP from a file."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from eyechart.errors import ModelError
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.registry import capabilities
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.protocol.registry import get_protocol, protocol_modules

pytestmark = pytest.mark.deep

repair()  # before any test imports open_clip itself
NAME = "imageomics/bioclip"
BIOCLIP, API = f"open_clip[hf-hub:{NAME}]", f"/api/models/{NAME}"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXTS = ["a photo of a Corvus corax bird.", "a photo of a Pica pica bird."]
SMALL = {  # BioCLIP's own configuration but for its sizes
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
SEEN = {"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}


def state(folder: Path) -> Mapping[str, Any]:
    """Random weights for the architecture in a folder."""
    import open_clip
    import torch

    model = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
    torch.manual_seed(0)
    return {key: torch.randn_like(value) * 0.2 for key, value in model.state_dict().items()}


def bioclip(folder: Path) -> Path:
    """Write BioCLIP's files."""
    import torch

    folder.mkdir(parents=True)
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": SMALL, "preprocess_cfg": SEEN}))
    torch.save(state(folder), folder / "open_clip_pytorch_model.bin")
    return folder


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A folder as `hf download` leaves it."""
    return bioclip(tmp_path / "bioclip")


@pytest.fixture
def cached(empty_hub: Path) -> Path:
    """BioCLIP in the hub's cache."""
    folder = empty_hub / "models--imageomics--bioclip"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    return bioclip(folder / "snapshots" / COMMIT)


@pytest.fixture
def wildclip(local: Path) -> str:
    """A small architecture among open_clip's named ones, as WildCLIP is a ViT-B-16 with quick GELU."""
    import open_clip

    (local / "eyechart-bird.json").write_text(json.dumps(SMALL | {"quick_gelu": True}))
    open_clip.add_model_config(local / "eyechart-bird.json")
    return "eyechart-bird"


def test_bioclip_meets_the_protocols_that_compare() -> None:
    offered = capabilities(parse_spec(BIOCLIP))
    assert {"species", "flat_list"} <= {name for name in protocol_modules() if get_protocol(name).supports(offered)}


def test_bioclip_that_is_not_there_is_asked_for_by_its_name(empty_hub: Path) -> None:
    encoder = OpenClipEncoder(parse_spec(BIOCLIP), offline=True)
    said = r"The model imageomics/bioclip is not on this machine, and --eye-offline .* `hf download imageomics/bioclip`"
    with pytest.raises(ModelError, match=said):
        _ = encoder.identity


def test_bioclip_is_read_from_the_hubs_cache_as_from_a_folder(cached: Path, local: Path) -> None:
    hub, folder = (
        OpenClipEncoder(parse_spec(BIOCLIP), offline=True),
        OpenClipEncoder(parse_spec(f"open_clip[local-dir:{local}]")),
    )
    np.testing.assert_array_equal(hub.encode_texts(TEXTS), folder.encode_texts(TEXTS))
    assert (hub.identity.name, hub.identity.revision) == ("bioclip", COMMIT)
    assert hub.identity.weights_sha256 == folder.identity.weights_sha256
    assert hub.identity.processor["image"]["mean"] == SEEN["mean"]


def test_bioclips_pickle_gives_what_open_clip_reads_of_it(local: Path) -> None:
    import open_clip
    import torch

    model = open_clip.create_model(f"local-dir:{local}").eval()
    with torch.inference_mode():
        expected = model.encode_text(open_clip.get_tokenizer(f"local-dir:{local}")(TEXTS)).numpy()
    np.testing.assert_allclose(
        OpenClipEncoder(parse_spec(f"open_clip[local-dir:{local}]")).encode_texts(TEXTS), expected, atol=1e-5
    )


@pytest.mark.parametrize("name", ["wildclip.pt", "wildclip.ckpt", "wildclip.safetensors"])
def test_wildclip_is_a_file_of_an_architecture(wildclip: str, local: Path, name: str) -> None:
    import torch
    from safetensors.torch import save_file

    kept = state(local)
    if name.endswith("safetensors"):
        save_file(dict(kept), local / name)
    else:
        torch.save({"state_dict": kept, "epoch": 3} if name.endswith("ckpt") else kept, local / name)
    encoder = OpenClipEncoder(parse_spec(f"open_clip[{wildclip},pretrained={local / name}]"))
    plain = OpenClipEncoder(parse_spec(f"open_clip[local-dir:{local}]"))
    assert encoder.checkpoint.quick_gelu
    assert (encoder.encode_texts(TEXTS).shape, encoder.logit_scale) == (
        plain.encode_texts(TEXTS).shape,
        plain.logit_scale,
    )
    assert np.abs(encoder.encode_texts(TEXTS) - plain.encode_texts(TEXTS)).max() > 0  # which is of plain GELU


def test_wildclips_file_as_it_is_published_is_refused_with_the_names(wildclip: str, local: Path) -> None:
    import torch

    kept = {f"model.clip_model.{key}": value for key, value in state(local).items()}
    torch.save({"state_dict": kept | {"model.adapter.alpha": torch.zeros(1)}}, local / "raw.ckpt")
    with pytest.raises(ModelError, match=r"does not fit eyechart-bird: .*model\.clip_model\.\w"):
        OpenClipEncoder(parse_spec(f"open_clip[{wildclip},pretrained={local / 'raw.ckpt'}]")).encode_texts(TEXTS)


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as fetching one repository takes; `folder` has its files, `fetched` the names asked for."""

    folder: Path
    fetched: list[str]

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path, name = self.path.partition("?")[0], self.path.rpartition("/")[2]
        files = {file.name: file.read_bytes() for file in sorted(self.folder.iterdir())}
        told = {
            f"{API}/revision/main": {"id": NAME, "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]},
            f"{API}/tree/{COMMIT}": [
                {"type": "file", "path": file, "size": len(content), "oid": sha256(content).hexdigest()}
                for file, content in files.items()
            ],
        }
        if path in told:
            self.send(json.dumps(told[path]).encode())
        elif path == f"/{NAME}/resolve/{COMMIT}/{name}":
            self.fetched.append(name)
            self.send(files[name])
        else:
            self.send_error(404)

    def send(self, content: bytes) -> None:
        self.send_response(200)
        for key, value in {"ETag": f'"{sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(local: Path) -> Iterator[tuple[str, list[str]]]:
    """A hub on loopback that has BioCLIP as a pickle, and one more file; its address, and what was fetched."""
    (local / "README.txt").write_text("birds")
    (local / "training.bin").write_bytes(b"no weights")
    handler = type("Handler", (Hub,), {"folder": local, "fetched": (fetched := [])})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", fetched
        server.shutdown()


FETCH = f"""
from importlib import reload
from huggingface_hub import constants
reload(constants)  # the interpreter read them from another environment
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.spec import parse_spec
print(OpenClipEncoder(parse_spec("{BIOCLIP}")).identity.weights_sha256)
"""


def test_bioclip_is_fetched_from_the_hub_by_its_name(
    hub: tuple[str, list[str]], local: Path, tmp_path: Path, warm_python: Sequence[str]
) -> None:
    address, fetched = hub
    env = {"HF_ENDPOINT": address, "HF_HUB_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0"}
    command = [*warm_python, "-c", FETCH]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=600)
    expected = sha256((local / "open_clip_pytorch_model.bin").read_bytes()).hexdigest()
    assert done.stdout.strip() == expected, done.stderr
    assert {*fetched} == {"README.txt", "open_clip_config.json", "open_clip_pytorch_model.bin"}
