"""A vLLM engine in this process without output; closing it releases everything and restores what it changed.

vLLM expects a process to itself: it replaces functions of torch, sets environment variables and turns classes of
transformers into its own. Here other models may answer before and after it. Several copies of an engine, each on its
own devices, work in processes of their own.
"""

import gc
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from eyechart.errors import ModelError
from eyechart.models.runtime.torchvision_repair import repair

MAX_IMAGES = 64  # in one request; vLLM wants a limit and reserves nothing for it
COMPACT = {"backend": "xgrammar", "disable_any_whitespace": True}  # JSON without spaces, which need not end
WORKER_EXTENSION = "eyechart.models.vllm.trie_worker.TrieWorker"
ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "2",  # GiB, which are taken as they are filled
}
SEPARATE_PROCESS_ENVIRONMENT = {  # where an engine works in several processes
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork has none of the threads, and would hang
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # or each would want a memory node to itself
}


@dataclass(frozen=True)
class Engine:
    """A vLLM engine in one or more copies, and what must be undone when it is closed."""

    llms: tuple[Any, ...]
    undo: ExitStack

    def close(self) -> None:
        """Stop the engine explicitly, because vLLM hides objects from the garbage collector. May be repeated."""
        self.undo.close()


def start_engine(path: Path, *, device: str, offline: bool, copies: int = 1, **settings: Any) -> Engine:
    """Start an engine for a checkpoint folder."""
    for name, value in {**ENVIRONMENT, **({"HF_HUB_OFFLINE": "1"} if offline else {})}.items():
        os.environ.setdefault(name, value)
    repair()
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries' warnings to one another
        import_module("vllm")  # sets variables that later engines rely on
        import_module("vllm.envs").disable_envs_cache()  # an earlier engine's variables
        stack.enter_context(_same_process())
        stack.enter_context(_same_classes())
        together = settings["tensor_parallel_size"] * settings.get("pipeline_parallel_size", 1)
        os.environ.update(SEPARATE_PROCESS_ENVIRONMENT if together * copies > 1 else {})
        os.environ.update({"VLLM_ENABLE_V1_MULTIPROCESSING": "1"} if copies > 1 else {})
        if not gc.get_freeze_count():  # whoever froze objects wants them to stay so
            stack.callback(gc.unfreeze)
        gc.freeze()  # vLLM collects garbage at its start and at its end, what it made itself is enough
        llms = tuple(_made(path, stack, **slot, **settings) for slot in device_slots(device, together, copies))
        return Engine(llms, stack.pop_all())


def _made(path: Path, stack: ExitStack, **settings: Any) -> Any:
    from vllm import LLM

    try:
        with patch.object(gc, "freeze", lambda: None):  # or what it makes is collected only if all else is, too
            llm = LLM(
                model=str(path),
                seed=0,
                generation_config="vllm",  # not the checkpoint's own, which may ask for sampling
                limit_mm_per_prompt={"image": MAX_IMAGES, "video": 0},
                structured_outputs_config=COMPACT,
                worker_extension_cls=WORKER_EXTENSION,
                use_tqdm_on_load=False,
                **settings,
            )
    except Exception as error:  # vLLM's code for a family raises what it happens to meet
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise ModelError(f"vLLM cannot start with {path}: {reason}. Try hf[…], or other options of vllm[…].") from error
    stack.callback(_shut_down, llm)
    return llm


def _shut_down(llm: Any) -> None:
    """Stop an engine, which collects garbage several times, but not what is older than the engine."""
    with patch.object(gc, "unfreeze", lambda: None):
        llm.llm_engine.engine_core.shutdown()


def device_slots(device: str, together: int, copies: int) -> list[Mapping[str, Any]]:
    """Return the device of each copy; on a processor, vLLM's default blocks are too long for prefix caching."""
    if device == "cpu":
        return [{"block_size": 32, "distributed_executor_backend": "uni" if together == 1 else "mp"}] * copies
    if together > 1 and copies == 1:
        return [{}]
    first = int(device.partition(":")[2] or 0)
    return [
        {"device_ids": [*range(start, start + together)]} for start in range(first, first + together * copies, together)
    ]


@contextmanager
def _same_process() -> Iterator[None]:
    """Restore environment variables and torch's threads at the end."""
    import torch

    variables, set_threads, threads = dict(os.environ), torch.set_num_threads, torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads = set_threads
        if torch.get_num_threads() != threads:  # one, after workers in other processes
            torch.set_num_threads(threads)
        os.environ.clear()
        os.environ.update(variables)


@contextmanager
def _same_classes() -> Iterator[None]:
    """Restore classes of transformers at the end; vLLM's decorator breaks them for other users."""
    from vllm.model_executor.models.transformers import base

    decorator, before = base.support_torch_compile, list[tuple[type, tuple[type, ...], dict[str, Any]]]()

    def remember(**how: Any) -> Any:
        def decorate(kind: type) -> type:
            before.append((kind, kind.__bases__, dict(vars(kind))))
            decorated: type = decorator(**how)(kind)
            return decorated

        return decorate

    with patch.object(base, "support_torch_compile", remember):
        try:
            yield
        finally:
            for kind, bases, attributes in reversed(before):
                _restore(kind, bases, attributes)


def _restore(kind: type, bases: tuple[type, ...], attributes: Mapping[str, Any]) -> None:
    for name, value in dict(vars(kind)).items():
        if name not in attributes:
            delattr(kind, name)
        elif value is not attributes[name]:
            setattr(kind, name, attributes[name])
    kind.__bases__ = bases
