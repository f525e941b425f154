"""Callbacks of training loops: evaluations before, during and after the training, compared with an earlier one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.errors import SpecError
from eyechart.integrations.periodic import PeriodicEvaluation

pytestmark = pytest.mark.deep


@pytest.fixture
def settings(tmp_path: Path) -> Mapping[str, Any]:
    return {"out": tmp_path / "runs", "store": tmp_path / "store", "protocol": "supervised", "offline": True}


def images(folder: Path) -> list[tuple[Image.Image, int]]:
    paths = sorted(folder.glob("*/*.png"))
    return [(Image.open(path).convert("RGB").resize((8, 8)), int(path.parent.name == "red")) for path in paths]


def test_the_trainer_of_transformers(pets: Path, settings: Mapping[str, Any], tmp_path: Path) -> None:
    import torch
    from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, ViTImageProcessor

    from eyechart.integrations.transformers import EvaluationCallback

    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = ViTForImageClassification(ViTConfig(image_size=8, patch_size=4, num_labels=2, **size))
    processor = ViTImageProcessor(size={"height": 8, "width": 8})
    rows = [
        {"pixel_values": processor(image, return_tensors="pt")["pixel_values"][0], "labels": label}
        for image, label in images(pets)
    ]
    arguments = TrainingArguments(
        str(tmp_path / "trainer"), max_steps=25, learning_rate=0.01, per_device_train_batch_size=6, report_to=[],
        save_strategy="no", disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False,
    )  # fmt: skip
    callback = EvaluationCallback(processor, pets, every=10, compare_with="best", **settings)
    trainer = Trainer(model, arguments, train_dataset=rows, callbacks=[callback])
    trainer.train()
    history = callback.evaluations.history
    assert [*history["step"]] == [0, 10, 20, 25]
    assert history["supervised/acc1"].iloc[0] < 1
    assert history["supervised/acc1"].iloc[-1] == 1
    assert history["compared_with"].iloc[1] == 0
    assert [*history["regressions"].iloc[1:]] == [0, 0, 0]
    logged = [row for row in trainer.state.log_history if "eyechart/supervised/acc1" in row]
    assert [row["step"] for row in logged] == [0, 10, 20, 25]
    assert model.training


@pytest.mark.filterwarnings("default")  # of Lightning itself
def test_lightning(pets: Path, settings: Mapping[str, Any], tmp_path: Path) -> None:
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
    loader = DataLoader([(transform(image), label) for image, label in images(pets)], batch_size=6)
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


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(SpecError, match=r"every is 0\. Expected a number of steps from 1 up"):
        PeriodicEvaluation("toybox/sample", every=0)
    with pytest.raises(SpecError, match=r"compare_with is 'last'\. Expected first or best"):
        PeriodicEvaluation("toybox/sample", every=1, compare_with="last")  # type: ignore[arg-type]
