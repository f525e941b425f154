"""vLLM's own server on loopback: `serving(FOLDER)` runs this file, which repairs torchvision first where it must."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from runpy import run_module
from time import monotonic, sleep
from urllib.error import URLError
from urllib.request import urlopen

from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.vllm.engine import COMPACT, ENVIRONMENT, MAX_IMAGES

PATIENCE = 600.0  # seconds for a server to start
OPTIONS = (
    *("--served-model-name", "served", "--host", "127.0.0.1", "--dtype", "float32", "--seed", "0"),
    *("--enforce-eager", "--block-size", "32", "--generation-config", "vllm", "--enable-prompt-tokens-details"),
    *("--structured-outputs-config", str(COMPACT).replace("'", '"').replace("True", "true")),
    *("--limit-mm-per-prompt", f'{{"image": {MAX_IMAGES}, "video": 0}}', "--disable-uvicorn-access-log"),
)

repair()  # in every process that is made from this one, before vLLM is imported


@contextmanager
def serving(folder: Path, *more: str, python: Sequence[str] = (sys.executable,), **variables: str) -> Iterator[str]:
    """Serve a checkpoint as `served` with the settings of `vllm[…]`; give its base_url when it answers."""
    port = free_port()
    start = f"from runpy import run_path\nrun_path({__file__!r}, run_name='__main__')"
    command = [*python, "-c", start, "--model", str(folder), "--port", str(port), *OPTIONS, *more]
    quiet = {**ENVIRONMENT, "VLLM_WORKER_MULTIPROC_METHOD": "spawn", "HF_HUB_OFFLINE": "1"}
    environment = {**os.environ, **quiet, "VLLM_ENABLE_V1_MULTIPROCESSING": "1", **variables}
    with (
        tempfile.TemporaryFile() as told,
        subprocess.Popen(command, env=environment, stdout=told, stderr=told, start_new_session=True) as one,
    ):
        try:
            if not answers(one, f"http://127.0.0.1:{port}/health"):
                told.seek(0)
                raise RuntimeError(f"vLLM's server did not start:\n{told.read().decode()[-3000:]}")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            end(one)


def end(server: subprocess.Popen[bytes]) -> None:
    """Ask a server to end, and end it and all that it started if it does not: one that is still starting may never."""
    server.terminate()
    try:
        server.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)


def free_port() -> int:
    """A port that nobody listens on."""
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        return int(found.getsockname()[1])


def answers(server: subprocess.Popen[bytes], url: str) -> bool:
    """Wait for a server, as long as it lives."""
    late = monotonic() + PATIENCE
    while server.poll() is None and monotonic() < late:
        try:
            with urlopen(url, timeout=5):
                return True
        except (URLError, OSError):
            sleep(0.5)
    return False


if __name__ == "__main__":
    resource_tracker.ensure_running()  # with Python itself
    multiprocessing.set_executable(sys.executable)  # a warm interpreter's, where this is its fork
    run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
