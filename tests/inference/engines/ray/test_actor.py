"""The process on a Ray cluster that holds a model, without the cluster: where it finds modules, when it makes it."""

import sys
from pathlib import Path

import pytest

from eyechart.errors import EyechartError
from eyechart.models.spec import parse_spec

pytestmark = pytest.mark.deep  # imports Ray

MODEL = """
from pathlib import Path
from eyechart.models.types import Classifier, Identity

class Found(Classifier):
    batch_size, loads = 4, 3

    def __init__(self, spec, *, device, offline):
        self.offline = offline

    @property
    def identity(self):
        words = {"weights_sha256": Path("weights.txt").read_text(), "dtype": "float32", "device": "cpu"}
        return Identity(backend="mine", name=f"offline: {self.offline}", processor={}, libraries={}, **words)

    def prepare(self, image):
        return image

    def classify(self, images):
        raise NotImplementedError
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where a session runs, which this process does not know and returns from."""
    folder = tmp_path / "session"
    folder.mkdir()
    (folder / "module_of_session.py").write_text(MODEL, encoding="utf-8")
    (folder / "weights.txt").write_text("0123", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return folder


def test_an_actor_finds_modules_and_files_where_the_session_runs(elsewhere: Path) -> None:
    from eyechart.inference.engines.ray.actor import ModelActor

    actor = ModelActor(parse_spec("module_of_session:Found[]"), True, elsewhere)
    assert sys.path[-1] == str(elsewhere)
    identity, _ = actor.describe()
    assert (identity.name, identity.weights_sha256, actor.loads()) == ("offline: True", "0123", 3)


def test_a_model_that_cannot_be_made_is_said_at_the_first_call_and_not_before(elsewhere: Path) -> None:
    from eyechart.inference.engines.ray.actor import ModelActor

    actor = ModelActor(parse_spec("module_of_nobody:Found[]"), True, elsewhere / "gone")
    assert Path.cwd() == elsewhere.parent
    with pytest.raises(EyechartError, match="module_of_nobody"):
        actor.describe()
