"""README's recipe for several machines, run on this one: two Ray nodes, then its command.

Ray's workers are forks of an interpreter that has imported what they import: plugins/ray_site.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from PIL import Image

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
HEAD, JOIN, RUN = re.findall(r"^(?:ray start|eyechart run) .*$", README.partition("## More GPUs")[2], re.MULTILINE)[:3]
BIN = Path(sys.executable).parent
WARM_SITE = str(Path(__file__).parents[1] / "plugins" / "ray_site")
PATIENCE = 120  # seconds until a node is there
MODEL = """
import sys
from pathlib import Path

import numpy as np
from eyechart.models.types import Classifier, Identity

class MyModel(Classifier):
    batch_size = 2

    def __init__(self, spec, *, device, offline):
        pass

    @property
    def identity(self):
        return Identity(backend="mine", name="mine", weights_sha256="1", dtype="float32", device="cpu",
                        processor={}, libraries={})

    def prepare(self, image):
        return image.getpixel((0, 0))

    def classify(self, images):
        with Path("answered.log").open("a") as file:
            print("in-an-actor" if "default_worker" in sys.argv[0] else "in-the-command", file=file)
        return np.array([[blue, red] for red, _, blue in images], np.float32)
"""


@contextmanager
def node(command: str, *more: str, environment: dict[str, str]) -> Iterator[None]:
    """A node of a cluster, which ends with the block."""
    words = [str(BIN / "ray"), *shlex.split(command)[1:], "--block", "--num-cpus=1", *more]
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def free_port() -> int:
    with socket.socket() as socket_:
        socket_.bind(("127.0.0.1", 0))
        return int(socket_.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until something listens at a port."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            assert time.monotonic() < deadline, "Ray did not start"
            time.sleep(0.2)
        else:
            return


@pytest.mark.deep
def test_the_recipe_answers_on_the_cluster(tmp_path: Path, warm_python: Sequence[str]) -> None:
    """Both nodes start, the command answers through them, and its record is right."""
    for number, name in enumerate(("blue", "red")):
        folder = tmp_path / "data" / "pets" / "test" / name
        folder.mkdir(parents=True)
        for shade in range(3):
            Image.new("RGB", (8, 8), (250 * number, shade, 250 * (1 - number))).save(folder / f"{shade}.png")
    (tmp_path / "my_module.py").write_text(MODEL)
    port = free_port()
    head, join = HEAD.replace("6379", str(port)), JOIN.replace("HEAD:6379", f"127.0.0.1:{port}")
    assert head != HEAD
    assert join != JOIN
    with TemporaryDirectory(dir="/tmp") as short:  # sockets have short paths
        own = {"RAY_TMPDIR": short, "RAY_USAGE_STATS_ENABLED": "0", "CUDA_VISIBLE_DEVICES": "", "HOME": str(tmp_path)}
        environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | own
        warm = environment | {"PYTHONPATH": WARM_SITE, "WARM_RAY": warm_python[0]}
        with node(head, "--include-dashboard=false", environment=warm):
            wait_for(port)
            with node(join, environment=warm):
                words = [*warm_python, "-m", *shlex.split(RUN)]
                here = environment | {"RAY_ADDRESS": f"127.0.0.1:{port}"}  # other tests may have clusters here, too
                done = subprocess.run(
                    words, cwd=tmp_path, env=here, capture_output=True, text=True, timeout=500, check=False
                )
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = json.loads((tmp_path / "reports/runs/latest/records.json").read_bytes())["records"]
    values = {metric["name"]: metric["value"] for metric in record["metrics"]}
    assert (values["acc1"], record["data"]["n"]) == (1.0, 6)
    assert {*(tmp_path / "answered.log").read_text().split()} == {"in-an-actor"}
