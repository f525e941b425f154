"""The code of models that tests put into several processes: each is odd in one way."""

MODELS = """
import json
import os
import signal
import sys
import zlib

import numpy as np
from eyechart.models.choices.trie import ExhaustiveScorer
from eyechart.models.types import Answer, Usage
from eyechart.models.spec import ModelSpec
from tinyeyes import Base, TinyClass, log

class Poison(TinyClass):
    # ends its process whenever it sees one picture
    def see(self, images):
        if any(abs(image).sum() == SUM for image in images):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().see(images)

class Absent(TinyClass):
    # ends every process but the one of the run
    def __init__(self, spec, *, device, offline):
        super().__init__(spec, device=device, offline=offline)
        if "pytest" not in sys.argv[0]:
            os.kill(os.getpid(), signal.SIGKILL)

def words(request):
    return "".join(part for part in request.parts if isinstance(part, str))

class Talker(Base, ExhaustiveScorer):
    # answers with a choice by the colour of the picture
    def generate(self, requests, max_tokens, schema=None):
        for number, request in enumerate(requests):
            log("ask", self.name, len(request.images))
            shade = sum(int(self.prepare(image).sum() * 1000) for image in request.images)
            yield number, Answer("ABCD"[shade % 4], (shade % 7,), True, usage=Usage(len(words(request)), 0, 1, 0))

    def score(self, requests, choices, *, until="end"):
        texts = [words(request) for request in requests]
        codes = [[zlib.crc32(f"{text}|{choice}".encode()) % 997 for choice in choices] for text in texts]
        return -np.asarray(codes, np.float32) / 100

class Wide(TinyClass):
    # tells its GPUs
    def __init__(self, spec, *, device, offline, tensor_parallel_size=1, data_parallel_size=1):
        if "pytest" not in sys.argv[0]:
            import ray
            log("gpus", *ray.get_gpu_ids())
        super().__init__(ModelSpec(spec.backend), device=device, offline=offline)

class Other(TinyClass):
    # is another model in each process
    def __init__(self, spec, *, device, offline):
        super().__init__(spec, device=device, offline=offline)
        self.seed = os.getpid()
"""
