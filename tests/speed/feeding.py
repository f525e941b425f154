"""How fast images reach a model beside a DataLoader with as many workers, and beside processes that only prepare them.

    python -m tests.speed.feeding [IMAGES [DEVICE]]

Photographs of 500 x 375 pixels go to an open_clip model of the shape of ViT-B-32. On the processor the model answers at
once, so that only its preparation is timed; on an accelerator it computes, and its forward loop alone is one more peer.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.file_index import IndexEntry, build_dataset
from eyechart.inference.engines.preparation.feed import PreparationProcesses, count_decoders
from eyechart.inference.engines.preparation.prepare import prefetch_images, prepare_image
from eyechart.models.registry import create_model
from eyechart.models.runtime.torch_runtime import inference_mode, to_numpy
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats

from .paired import Work, ratio

FILES, BATCH = 256, 64
SMALL_TEXTS = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 1}
PREPROCESSING = {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}


class Bench:
    """The photographs and the model; `workers` processes prepare images on both sides.

    `settings` are the model's for open_clip, those of ViT-B-32 by default. It `computes` on an accelerator, else only
    if that is said.
    """

    def __init__(
        self,
        folder: Path,
        images: int,
        device: str,
        settings: Mapping[str, Any] | None = None,
        *,
        computes: bool | None = None,
    ) -> None:
        self.folder, self.images, self.device, self.workers = folder, images, device, count_decoders()
        self.settings = settings or architecture("ViT-B-32")
        self.computes = device != "cpu" if computes is None else computes

    @property
    def side(self) -> int:
        """The pixels of a side of what the model reads."""
        return int(self.settings["vision_cfg"]["image_size"])

    @cached_property
    def dataset(self) -> Dataset:
        """A data set in which each file occurs several times."""
        draws = np.random.default_rng(0)
        digests = []
        for number in range(FILES):
            smooth = Image.fromarray(draws.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize((500, 375))
            pixels = np.asarray(smooth, np.int64) + draws.integers(-18, 19, (375, 500, 3))
            path = self.folder / f"{number}.jpg"
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path, quality=90)
            digests.append(sha256(path.read_bytes()).hexdigest())
        names = [f"{number % FILES}.jpg" for number in range(self.images)]
        entries = [
            IndexEntry(f"{number:08d}", name, digests[number % FILES], name, label=0)
            for number, name in enumerate(names)
        ]
        return build_dataset(self.folder, "speed", "photographs", entries, classes=1)

    @cached_property
    def model(self) -> Any:
        """The model with random weights."""
        from eyechart.models.runtime.torchvision_repair import repair

        repair()
        import open_clip

        location = self.folder / "model"
        location.mkdir()
        torch.save(open_clip.CLIP(**self.settings).state_dict(), location / "open_clip_pytorch_model.bin")
        config = {"model_cfg": self.settings, "preprocess_cfg": {**PREPROCESSING, "size": self.side}}
        (location / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
        spec = parse_spec(f"open_clip[local-dir:{location},batch_size={BATCH}]")
        return create_model(spec, device=self.device, offline=True)

    def encode(self, items: list[Any]) -> Floats:
        """What the model does with a batch."""
        return self.model.encode_images(items) if self.computes else np.zeros((len(items), 512), np.float32)

    def threads(self) -> None:
        """Ours, with threads."""
        for batch in prefetch_images(self.dataset, range(self.images), BATCH, self.model.prepare):
            self.encode([item for _, item in batch])

    @cached_property
    def started(self) -> PreparationProcesses:
        """Our processes, all of them ready."""
        processes = PreparationProcesses(self.model, self.model.made_from, self.workers)
        [*processes.prefetch(self.dataset, range(1), 1)]
        for process in processes.processes:
            process.is_ready(wait=True)
        return processes

    def processes(self) -> None:
        """Ours, with processes."""
        for batch in self.started.prefetch(self.dataset, range(self.images), BATCH):
            self.encode([item for _, item in batch])

    def loader(self) -> None:
        """The peer: torch's DataLoader with the model's transform, and with the forward pass in a loop."""
        photographs = Photographs(self.folder, self.images, self.model._transform)
        batches = torch.utils.data.DataLoader(
            photographs, batch_size=BATCH, num_workers=self.workers, pin_memory=self.device != "cpu",
            multiprocessing_context="fork",
        )  # fmt: skip
        for batch in batches:
            if self.computes:
                with inference_mode(self.device, self.model.dtype):
                    to_numpy(self.model._module.encode_image(batch.to(self.device, non_blocking=True)))

    def bare(self) -> None:
        """The limit: processes that read, decode and prepare a part of the images each, and keep nothing."""
        context = get_context("fork")
        parts = [range(start, self.images, self.workers) for start in range(self.workers)]
        processes = [context.Process(target=prepare_all, args=(self.dataset, self.model, part)) for part in parts]
        for process in processes:
            process.start()
        for process in processes:
            process.join()

    def forward(self) -> None:
        """The other limit: forward passes over one batch that lies on the accelerator."""
        batch = self.model._pixels.stack([np.zeros((self.side, self.side, 3), np.uint8)] * BATCH, self.device)
        with inference_mode(self.device, self.model.dtype):
            for _ in range(self.images // BATCH):
                features = self.model._module.encode_image(batch)
            to_numpy(features)

    def facts(self, pairs: int) -> Iterator[str]:
        """Our ways beside the peers."""
        self.processes()
        peers: dict[str, Work] = {"a DataLoader": self.loader, "processes that only prepare": self.bare}
        if self.computes:
            peers["the forward loop alone"] = self.forward
        for way, ours in {"threads": self.threads, "processes": self.processes}.items():
            for name, theirs in peers.items():
                times = "{:.2f} ({:.2f}–{:.2f})".format(*ratio(ours, theirs, pairs))
                what = f"{self.images} photographs prepared in {self.workers} {way}"
                yield f"{what}, speed divided by that of {name}: {times}"
        started = perf_counter()
        self.processes()
        yield f"{self.images / (perf_counter() - started):.0f} images a second through {self.workers} processes"
        self.started.close()


def architecture(name: str) -> dict[str, Any]:
    """Return an architecture of open_clip with a small text tower, which reads nothing here."""
    from eyechart.models.runtime.torchvision_repair import repair

    repair()
    import open_clip

    config = open_clip.get_model_config(name)
    return {"embed_dim": config["embed_dim"], "vision_cfg": config["vision_cfg"], "text_cfg": SMALL_TEXTS}


class Photographs(torch.utils.data.Dataset[Any]):
    """The files for a DataLoader."""

    def __init__(self, folder: Path, images: int, transform: Any) -> None:
        self.folder, self.images, self.transform = folder, images, transform

    def __len__(self) -> int:
        return self.images

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.folder / f"{index % FILES}.jpg").convert("RGB"))


def prepare_all(dataset: Dataset, model: Any, indices: range) -> None:
    """Prepare some images."""
    torch.set_num_threads(1)
    for index, data in dataset.read(indices):
        prepare_image(dataset, model.prepare, index, data)


def facts(pairs: int, images: int = 2000, device: str = "cpu") -> Iterator[str]:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        yield from Bench(Path(folder), images, device).facts(pairs)


if __name__ == "__main__":
    options = [int(value) if value.isdecimal() else value for value in sys.argv[1:]]
    for line in facts(3, *options):
        print(line, flush=True)
