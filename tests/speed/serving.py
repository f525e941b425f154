"""What asking vLLM over a loopback server costs over asking the engine in this process: the same questions to both."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Generator, Request
from eyechart.models.vllm.generator import VllmGenerator
from toybox.exam import groups, skills

from ..vllm_server import serving
from .big_model import big_qwen3_vl
from .paired import ratio

CONCURRENCY = 16
THREADS = {"OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
TOKENS = 16
ROOM = 1024


def facts(pairs: int) -> Iterator[str]:
    """Throughput through a server over throughput in this process, for a tiny model and for one of 60 million."""
    toybox = Path(str(files("eyechart.samples"))) / "toybox-mllm"
    with TemporaryDirectory() as name, one_thread():
        yield from fact("toybox-mllm", toybox, 256, pairs)
        yield from fact("a Qwen3-VL of 60 million", big_qwen3_vl(Path(name)), 48, pairs)


@contextmanager
def one_thread() -> Iterator[None]:
    """Both sides compute in one thread, since a server's other processes need a core as well."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def fact(what: str, folder: Path, requests: int, pairs: int) -> Iterator[str]:
    """One model's."""
    runs = iter(list(fresh(2 * pairs + 2, requests)))
    options = ("--max-model-len", str(ROOM), "--max-num-seqs", str(CONCURRENCY))
    with serving(folder, *options, **THREADS) as url:
        server = OpenAiGenerator(parse_spec(f"openai[served,base_url={url},concurrency={CONCURRENCY}]"))
        engine = VllmGenerator(
            parse_spec(f"vllm[{folder},max_model_len={ROOM},max_num_seqs={CONCURRENCY}]"), offline=True
        )
        for model in (server, engine):
            ask(model, next(runs))  # what is first takes longer
        middle, least, most = ratio(lambda: ask(server, next(runs)), lambda: ask(engine, next(runs)), pairs)
        server.close()
        engine.close()
    yield (
        f"{what} behind a server on this machine, {CONCURRENCY} requests at once: {100 * middle:.0f} % of the "
        f"throughput of the engine in this process ({100 * least:.0f}–{100 * most:.0f} %)"
    )


def fresh(runs: int, requests: int) -> Iterator[list[Request]]:
    """Questions about pictures that neither side has seen yet."""
    (skill,) = (skill for skill in skills() if skill.name == "contain / not contain")
    items = skill.items(groups()[0], runs * requests)
    for _ in range(runs):
        yield [item.request for item in islice(items, requests)]


def ask(model: Generator, requests: list[Request]) -> None:
    """Ask all of them."""
    for _, answer in model.generate(requests, TOKENS):
        if answer.error:
            raise RuntimeError(answer.error)
