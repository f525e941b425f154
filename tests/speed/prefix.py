"""What it saves to put the 1000 names first: a closed world in the paper's order and with a shared prefix."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from eyechart.classification.answers.image_batches import closed_world_prompt, format_class_list, request_parts
from eyechart.data.labels.class_names import load_class_names
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request, Usage
from eyechart.models.vllm.generator import VllmGenerator

from .big_model import big_qwen3_vl
from .paired import ratio

REQUESTS = 24
TOKENS = 16
ORDERS = ("image-first", "text-first")


@dataclass
class Bench:
    """An engine and the same requests in both orders; remembers what was read."""

    engine: VllmGenerator
    asked: Mapping[str, list[Request]] = field(default_factory=lambda: {order: requests(order) for order in ORDERS})
    usage: dict[str, Usage] = field(default_factory=lambda: dict.fromkeys(ORDERS, Usage()))

    def ask(self, order: str) -> None:
        """Ask an engine that remembers nothing."""
        self.engine._engine.llms[0].reset_prefix_cache()
        for _, answer in self.engine.generate(self.asked[order], TOKENS):
            if answer.error:
                raise RuntimeError(answer.error)
            self.usage[order] += answer.usage

    def hits(self, order: str) -> str:
        """The share of the prompts' tokens that the engine's cache held."""
        return f"{100 * self.usage[order].cached / self.usage[order].prompt:.1f} %"


def facts(pairs: int) -> Iterator[str]:
    """Hit rates of both orders and how much faster the shared one is, for a tiny model and for one of 60 million."""
    with TemporaryDirectory() as name:
        for what, where in (("toybox-mllm", "toybox-mllm"), ("a Qwen3-VL of 60 million", big_qwen3_vl(Path(name)))):
            engine = VllmGenerator(parse_spec(f"vllm[{where},max_model_len=8192]"), offline=True)
            yield fact(what, engine, pairs)
            engine.close()


def fact(what: str, engine: VllmGenerator, pairs: int) -> str:
    """One model's."""
    bench = Bench(engine)
    list(engine.generate(bench.asked["image-first"][:2], TOKENS))  # what is first takes longer
    middle, least, most = ratio(partial(bench.ask, "text-first"), partial(bench.ask, "image-first"), pairs)
    long = bench.usage["image-first"].prompt / pairs / REQUESTS
    first, last = bench.hits("text-first"), bench.hits("image-first")
    return (
        f"{what}, {REQUESTS} closed-world requests of {long:.0f} tokens: the cache holds {last} of them with the image "
        f"first, {first} with the text first, which is {middle:.1f} times as fast ({least:.1f}–{most:.1f})"
    )


def requests(order: str) -> list[Request]:
    """The packaged photographs, each with all class names."""
    dataset = open_sample("sample")
    text = closed_world_prompt().fill(class_list=format_class_list(load_class_names("mill").names))
    images = [Image.open(BytesIO(data)).convert("RGB") for _, data in dataset.read(range(REQUESTS))]
    return [
        Request(tuple(part if isinstance(part, str) else image for part in request_parts(text, [0], order)))
        for image in images
    ]
