"""Counts the forward passes of FastVLM in this process, and the tokens and images that they read.

A plugin of pytest for eyechart's process (`-p tests.speed.peer.forwards`), and a module for lmms-eval's. The counts are
written to the file that the environment variable FORWARDS names.
"""

import atexit
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any


def start() -> None:
    """Count from now on, and write the counts when the process ends."""
    from transformers.models.qwen3.modeling_qwen3 import Qwen3Model
    from transformers.models.resnet.modeling_resnet import ResNetEmbeddings

    counts = Counter[str]()
    read, encode = Qwen3Model.forward, ResNetEmbeddings.forward

    def counted_read(self: Any, *given: Any, **named: Any) -> Any:
        counts["passes"] += 1
        counts["tokens"] += named["inputs_embeds"].shape[:2].numel()
        return read(self, *given, **named)

    def counted_encode(self: Any, pixels: Any) -> Any:
        counts["images"] += len(pixels)
        return encode(self, pixels)

    Qwen3Model.forward, ResNetEmbeddings.forward = counted_read, counted_encode
    path = Path(os.environ["FORWARDS"])
    atexit.register(lambda: path.write_text(json.dumps(counts), encoding="utf-8"))


def pytest_configure() -> None:
    """Count in a session of pytest."""
    from eyechart.models.runtime.torchvision_repair import repair

    repair()
    start()
