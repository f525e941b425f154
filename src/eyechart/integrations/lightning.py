"""A callback of Lightning that evaluates the module every k steps."""

from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from eyechart.integrations.periodic import PeriodicEvaluation, Reference


class EvaluationCallback(Callback):  # type: ignore[misc]  # lightning is not checked
    """Evaluates the module at step 0, every `every` steps, and at the end; numbers go to the Trainer's loggers.

    `evaluations` holds runs, comparisons and `history`.

        callback = EvaluationCallback(lambda module: (module.net, transform), "pets/test", every=500)
        Trainer(callbacks=[callback]).fit(module, loader)
        callback.evaluations.history

    Args:
        get_model: Returns from the LightningModule what `eyechart.evaluate` takes, such as `(module.net, transform)`.
        data: As for `eyechart.evaluate`.
        every: The number of steps between two evaluations.
        compare_with: As for `PeriodicEvaluation`.
        settings: Other arguments of `eyechart.evaluate`.
    """

    def __init__(
        self,
        get_model: Callable[[Any], Any],
        data: Any,
        *,
        every: int,
        compare_with: Reference = "first",
        **settings: Any,
    ) -> None:
        self.get_model = get_model
        self.evaluations = PeriodicEvaluation(data, every=every, compare_with=compare_with, **settings)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Evaluate the module before the first step."""
        self.evaluate(trainer, pl_module)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        """Evaluate the module if a multiple of `every` steps is done."""
        if self.evaluations.is_due(trainer.global_step):
            self.evaluate(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Evaluate the module after the last step."""
        if trainer.global_step not in self.evaluations.runs:
            self.evaluate(trainer, pl_module)

    def evaluate(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Evaluate the module, on the main process only, and log the numbers.

        Args:
            trainer: The Trainer, whose loggers get the numbers.
            pl_module: The module.
        """
        if trainer.is_global_zero:
            numbers = self.evaluations(self.get_model(pl_module), trainer.global_step)
            for logger in trainer.loggers:
                logger.log_metrics(dict(numbers), step=trainer.global_step)
