"""Tests of `eyechart.integrations.lightning`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytestmark = pytest.mark.deep


@pytest.mark.filterwarnings("default")  # of Lightning itself
def test_lightning(
    pets: Path, images: Sequence[tuple[Image.Image, int]], settings: Mapping[str, Any], tmp_path: Path
) -> None:
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.loggers import CSVLogger
    from torch.utils.data import DataLoader

    from eyechart.integrations.lightning import EvaluationCallback

    def transform(image: Image.Image) -> Any:
        import numpy as np

        return torch.tensor(np.asarray(image.resize((8, 8)), np.float32)).permute(2, 0, 1) / 255

    class Colours(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2))
            with torch.no_grad():  # wrong at first: red is called blue
                self.net[1].weight.copy_(torch.eye(3)[[0, 2]].repeat_interleave(64, 1))

        def training_step(self, batch: Any, _: int) -> Any:
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    loader = DataLoader([(transform(image), label) for image, label in images], batch_size=6)
    callback = EvaluationCallback(lambda module: (module.net, transform), pets, every=10, **settings)
    logger = CSVLogger(tmp_path / "logs")
    trainer = Trainer(
        max_steps=20, accelerator="cpu", devices=1, callbacks=[callback], logger=logger, log_every_n_steps=1,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(Colours(), loader)
    history = callback.evaluations.history
    assert [*history["step"]] == [0, 10, 20]
    assert [history["supervised/acc1"].iloc[0], history["supervised/acc1"].iloc[-1]] == [0, 1]
    assert [*history["compared_with"].iloc[1:]] == [0, 0]
    assert "eyechart/supervised/acc1" in (Path(logger.log_dir) / "metrics.csv").read_text()
