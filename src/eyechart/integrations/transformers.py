"""A callback of transformers' Trainer that evaluates the model every k steps."""

from typing import Any

from transformers import TrainerCallback, TrainerState

from eyechart.integrations.periodic import PeriodicEvaluation, Reference


class EvaluationCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not checked
    """Evaluates the model at step 0, every `every` steps, and at the end; numbers enter the Trainer's log history.

    `evaluations` holds runs, comparisons and `history`.

        callback = EvaluationCallback(processor, "pets/test", every=500, compare_with="best")
        Trainer(model, arguments, callbacks=[callback], …).train()
        callback.evaluations.history

    Args:
        processor: The image processor or processor of the model.
        data: As for `eyechart.evaluate`.
        every: The number of steps between two evaluations.
        compare_with: As for `PeriodicEvaluation`.
        settings: Other arguments of `eyechart.evaluate`.
    """

    def __init__(
        self, processor: Any, data: Any, *, every: int, compare_with: Reference = "first", **settings: Any
    ) -> None:
        self.processor = processor
        self.evaluations = PeriodicEvaluation(data, every=every, compare_with=compare_with, **settings)

    def on_train_begin(self, _args: Any, state: TrainerState, _control: Any, **parts: Any) -> None:
        """Evaluate the model before the first step."""
        self.evaluate(state, parts["model"])

    def on_step_end(self, _args: Any, state: TrainerState, _control: Any, **parts: Any) -> None:
        """Evaluate the model if a multiple of `every` steps is done."""
        if self.evaluations.is_due(state.global_step):
            self.evaluate(state, parts["model"])

    def on_train_end(self, _args: Any, state: TrainerState, _control: Any, **parts: Any) -> None:
        """Evaluate the model after the last step."""
        if state.global_step not in self.evaluations.runs:
            self.evaluate(state, parts["model"])

    def evaluate(self, state: TrainerState, model: Any) -> None:
        """Evaluate the model, on the main process only, and append the numbers to the log history.

        Args:
            state: The state of the Trainer, which has the log history.
            model: The model.
        """
        if state.is_world_process_zero:
            numbers = self.evaluations((getattr(model, "module", model), self.processor), state.global_step)
            state.log_history.append({"step": state.global_step, **numbers})
