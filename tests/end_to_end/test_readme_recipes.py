"""README's three recipes as they stand there, in a new folder: own images, own model, own gate, and the page.

Also the commands of "Coming from another tool", with packaged models and data instead of the names.
"""

import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PUBLISHED, PACKAGED = "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]", "open_clip[toybox-clip]"
SHELL = [line.replace(PUBLISHED, PACKAGED) for block in re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
         for line in block.splitlines()]  # fmt: skip
LATEST = "reports/runs/latest"
PYTHON = [block.replace(PUBLISHED, PACKAGED) for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL)]
MODEL = '''
from hashlib import sha256
from pathlib import Path

import numpy as np

from eyechart.models.types import Classifier, Identity


class MyModel(Classifier):
    """Tells cats, which are blue here, from dogs."""

    batch_size, loads = 8, 1

    def __init__(self, spec, **_):
        self.spec, self.weights = spec, np.array(eval(Path("weights").read_text()))

    @property
    def identity(self):
        digest = sha256(self.weights.tobytes()).hexdigest()
        return Identity(backend=self.spec.backend, name="mine", weights_sha256=digest, dtype="float32", device="cpu",
                        processor={"size": 1}, libraries={})

    def prepare(self, image):
        return np.asarray(image, float).mean(axis=(0, 1))

    def classify(self, images):
        return np.stack([*images]) @ self.weights
'''
GOOD, DAMAGED = "[[0, 1], [0, 0], [1, 0]]", "[[0, 0], [0, 0], [0, 1]]"
REGRESSION = 10

COMING = re.findall(r"`(eyechart [^`]+)`", (ROOT / "docs/coming-from.md").read_text(encoding="utf-8"))
NAMES = {  # what stands for a name of the reader's; a limit would replace that of the ini file
    PUBLISHED: PACKAGED, "vllm[NAME]": "vllm[toybox-mllm]", "NAME": "toybox-mllm", "MODEL": "toybox-mllm",
    "TASK": "'closed_world and sample-cutouts'", "DATASET/": "'toybox/sample-cutouts/ and mcq'", "--eye-limit=100": "",
    "RUN": LATEST, "BEFORE": LATEST, "AFTER": LATEST,
}  # fmt: skip
PRINTED = {  # by the start of a command
    "eyechart run": "toybox-", "eyechart collect": "history.parquet: 3 runs, ", "eyechart ls protocols": "zero_shot: ",
    "eyechart ls datasets": "toybox/sample ", "eyechart page": "index.html",
    "eyechart compare": "0 significantly worse",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user with a data set and a model."""
    for name, colour in (("cat", (0, 0, 255)), ("dog", (255, 0, 0))):
        (tmp_path / "data/pets/test" / name).mkdir(parents=True)
        for number in range(12):
            Image.new("RGB", (40 + number, 40), colour).save(tmp_path / "data/pets/test" / name / f"{number}.jpg")
    (tmp_path / "my_module.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "weights").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def type_line(warm_python: Sequence[str]) -> Callable[..., str]:
    """Run a line of the shell and return what it prints."""

    def type_line(line: str, code: int = 0) -> str:
        command = [*warm_python, "-m", *shlex.split(line)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return type_line


def test_the_recipes_of_the_shell(folder: Path, type_line: Callable[..., str]) -> None:
    images, page, model, update, gate, *_ = SHELL  # the rest needs a cluster: test_more_gpus
    assert "pets/test" in type_line(images)
    assert type_line(page).strip().endswith("index.html")
    assert "pets/test/mine" in type_line(model)
    assert "baseline written" in type_line(update)
    assert "0 significantly worse" in type_line(gate)
    (folder / "weights").write_text(DAMAGED, encoding="utf-8")
    said = type_line(gate, code=REGRESSION)
    assert "right before and wrong now: 24" in said


def mean_colour(image: Image.Image) -> Any:
    """The mean colour of an image, as a tensor (3, 1, 1)."""
    import torch

    return torch.tensor(np.asarray(image, np.float32).mean(axis=(0, 1)) / 255).reshape(3, 1, 1)


def test_the_recipes_of_python(folder: Path, type_line: Callable[..., str]) -> None:
    import torch

    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 2, bias=False))
    with torch.no_grad():
        module[1].weight.copy_(torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    values: dict[str, Any] = {
        "module": module,
        "transform": mean_colour,
    }
    own_images, own_model, own_gate = PYTHON
    exec(own_images, values)
    assert {"value", "n", "low"} <= {*values["run"].metrics}
    exec(own_model, values)
    assert list(values["run"].samples["correct"]) == [1] * 24
    type_line(SHELL[3])
    exec(f"found = {own_gate}", values)
    assert len(values["found"]) == 0


def in_order(line: str) -> int:
    """The place of a command among the others: runs first, since the others read them."""
    return 0 if line.startswith("eyechart run") else 1


def test_the_commands_for_those_who_come_from_another_tool(folder: Path, type_line: Callable[..., str]) -> None:
    """vLLM takes a minute to start; its cases are only collected."""
    (folder / "pytest.ini").write_text(
        "[pytest]\neye_limit = 1\neye_templates = 1\neye_offline = true\n", encoding="utf-8"
    )
    assert len(COMING) > 8
    for line in sorted(COMING, key=in_order):
        line = re.sub("|".join(map(re.escape, NAMES)), lambda match: NAMES[match[0]], line)
        said = type_line(f"{line} --collect-only -q" if "vllm[" in line else line)
        expected = next(text for start, text in PRINTED.items() if line.startswith(start))
        assert expected in said, line
