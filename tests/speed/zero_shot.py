"""Zero-shot classification beside clip_benchmark and open_clip's own loop: one model, the same images and names."""

import json
from collections.abc import Callable, Iterator
from functools import cached_property
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from PIL import Image

from eyechart.data.labels.class_names import load_class_names, load_templates
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.inference.requests.row_requests import ClassWeights, Encode
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store, Writer
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.spec import parse_spec

CLASSES = 40
ARCHITECTURE = {
    "embed_dim": 256,
    "vision_cfg": {"image_size": 224, "layers": 6, "width": 256, "head_width": 64, "patch_size": 32},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 256, "heads": 4, "layers": 6},
}
PREPROCESSING = {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}
Work = Callable[[], object]


class Bench:
    """One open_clip model with random weights in a folder, and the packaged photographs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spec = parse_spec(f"open_clip[local-dir:{self.checkpoint()}]")
        self.names = load_class_names("mill").names[:CLASSES]
        self.formats = load_templates("80").formats
        self.dataset = open_sample("sample")
        self.runs = 0

    def checkpoint(self) -> Path:
        """Save the model as open_clip saves one."""
        from eyechart.models.runtime.torchvision_repair import repair

        repair()
        import open_clip

        location = self.folder / "model"
        location.mkdir()
        torch.manual_seed(0)
        model = open_clip.CLIP(**ARCHITECTURE)
        torch.save(model.state_dict(), location / "open_clip_pytorch_model.bin")
        config = {"model_cfg": ARCHITECTURE, "preprocess_cfg": PREPROCESSING}
        (location / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
        return location

    @cached_property
    def ours(self) -> OpenClipEncoder:
        """The model through the suite's backend."""
        model = OpenClipEncoder(self.spec)
        model.encode_texts(["warm up"])
        return model

    @cached_property
    def theirs(self) -> tuple[Any, Any, Any]:
        """The model, its preprocessing and its tokenizer, as the peers get them."""
        import open_clip

        name = f"local-dir:{self.folder / 'model'}"
        model, _, preprocess = open_clip.create_model_and_transforms(name)
        return model.eval(), preprocess, open_clip.get_tokenizer(name)

    def comparisons(self) -> Iterator[tuple[str, str, Work, Work]]:
        """What is measured, beside whom, ours and theirs."""
        yield "classifier building", "clip_benchmark", self.our_classifier, self.peer_classifier
        yield "classifier building", "open_clip", self.our_classifier, self.open_clip_classifier
        yield "whole cold run", "clip_benchmark", self.our_run, self.peer_run
        yield "whole cold run", "open_clip's own loop", self.our_run, self.open_clip_run

    def our_classifier(self) -> np.ndarray:
        """The suite's class weights."""
        return class_weights(self.ours.encode_texts, self.names, self.formats)

    def peer_classifier(self) -> torch.Tensor:
        """clip_benchmark's class weights."""
        from clip_benchmark.metrics.zeroshot_classification import zero_shot_classifier

        model, _, tokenizer = self.theirs
        made: torch.Tensor = zero_shot_classifier(model, tokenizer, self.names, list(self.formats), "cpu", amp=False)
        return made

    def open_clip_classifier(self) -> torch.Tensor:
        """open_clip's class weights."""
        import open_clip

        model, _, tokenizer = self.theirs
        formats = [template.replace("{c}", "{}") for template in self.formats]
        made: torch.Tensor = open_clip.build_zero_shot_classifier(model, tokenizer, self.names, formats)
        return made

    def our_run(self) -> object:
        """Everything, into an empty store."""
        self.runs += 1
        return self.asked(Store(self.folder / f"store{self.runs}"))

    def asked(self, store: Store) -> np.ndarray:
        """Features, class weights and scores, as a case asks for them."""
        runner = Runner(store, None, 42, lambda *_: None)
        weights = runner.run(ClassWeights(tuple(self.names), self.formats), self.ours)
        return cosine_similarity(runner.run(Encode(), self.ours, self.dataset).values, weights)

    def loader(self) -> Any:
        """The images as the peers read them."""
        pictures = Pictures([data for _, data in self.dataset.read(range(len(self.dataset)))], self.theirs[1])
        return torch.utils.data.DataLoader(pictures, batch_size=64, num_workers=2)

    def peer_run(self) -> object:
        """clip_benchmark's evaluate."""
        from clip_benchmark.metrics.zeroshot_classification import evaluate

        model, _, tokenizer = self.theirs
        return evaluate(model, self.loader(), tokenizer, self.names, list(self.formats), "cpu", amp=False)

    def open_clip_run(self) -> object:
        """Images against open_clip's classifier, as its training script does."""
        model, weights = self.theirs[0], self.open_clip_classifier()
        with torch.inference_mode():
            return [100.0 * model.encode_image(images, normalize=True) @ weights for images, _ in self.loader()]

    def facts(self, pairs: int) -> Iterator[str]:
        """What is no ratio of two runs."""
        yield f"largest difference of logits: {self.difference():.1e} (cosine, float32)"
        yield f"forward passes of a second run: {self.passes_of_a_second_run()}"
        yield f"time in the store, of a whole cold run: {100 * median(self.store_share() for _ in range(pairs)):.2f} %"

    def difference(self) -> float:
        """The farthest that a cosine is from the one by open_clip's classifier."""
        runner = Runner(Store(self.folder / "facts"), None, 42, lambda *_: None)
        features = runner.run(Encode(), self.ours, self.dataset)
        ours = cosine_similarity(features.values, self.our_classifier())
        return float(np.abs(ours - cosine_similarity(features.values, self.open_clip_classifier().T.numpy())).max())

    def passes_of_a_second_run(self) -> int:
        """Forward passes when everything is kept already."""
        store = Store(self.folder / "twice")
        self.asked(store)
        passes: list[object] = []
        for tower in (self.ours._module.visual, self.ours._module.transformer):
            tower.register_forward_pre_hook(lambda *given: passes.append(given[0]))
        self.asked(store)
        return len(passes)

    def store_share(self) -> float:
        """The share of a cold run that is spent in the store's writing."""
        spent = 0.0

        def timed(method: Callable[..., None]) -> Callable[..., None]:
            def call(*given: Any) -> None:
                nonlocal spent
                started = perf_counter()
                method(*given)
                spent += perf_counter() - started

            return call

        append, seal = Writer.append, Writer.seal
        Writer.append, Writer.seal = timed(append), timed(seal)
        rmtree(self.folder / "share", ignore_errors=True)
        started = perf_counter()
        self.asked(Store(self.folder / "share"))
        whole = perf_counter() - started
        Writer.append, Writer.seal = append, seal
        return spent / whole


class Pictures(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
    """The same bytes for the peers' loaders; labels do not matter here."""

    def __init__(self, data: list[bytes], preprocess: Callable[[Image.Image], torch.Tensor]) -> None:
        self.data, self.preprocess = data, preprocess
        self.classes = range(CLASSES)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.preprocess(Image.open(BytesIO(self.data[index])).convert("RGB")), index % CLASSES
