"""Writes the files in this folder with lm-evaluation-harness 0.4.13: `pip install lm_eval && python write.py`.

Two models answer a multiple-choice question about 120 descriptions of shapes, and the first of them a question in words
that two filters read.
"""

import json
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

HERE = Path(__file__).parent
SHAPES = {3: "triangle", 4: "square", 5: "pentagon"}
CHOICE = """
task: shapes
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "A shape with {{{{sides}}}} sides, sample {{{{number}}}}, is a"
doc_to_choice: [triangle, square, pentagon]
doc_to_target: label
metric_list:
  - {{metric: acc}}
  - {{metric: acc_norm}}
metadata: {{version: 1.0}}
"""
WORDS = """
task: shapes_words
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "Name the shape with {{{{sides}}}} sides, sample {{{{number}}}}."
doc_to_target: "{{{{name}}}}"
generation_kwargs: {{until: ["\\n"]}}
filter_list:
  - {{name: strict, filter: [{{function: take_first}}]}}
  - {{name: last, filter: [{{function: regex, regex_pattern: "(\\\\w+)\\\\.?$"}}, {{function: take_first}}]}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
metadata: {{version: 2.0}}
"""


class Shapes(LM):
    """A model that is right about a share of the samples, which depends on the prompt alone."""

    def __init__(self, share):
        super().__init__()
        self.share = share

    def is_right(self, prompt):
        """Return whether the model is right about a prompt."""
        return sha256(prompt.encode()).digest()[0] / 256 < self.share

    def loglikelihood(self, requests):
        """Return the log-probability of each choice."""
        answers = []
        for prompt, choice in (request.args for request in requests):
            names = [*SHAPES.values()]
            name = next(name for sides, name in SHAPES.items() if f"{sides} sides" in prompt)
            best = name if self.is_right(prompt) else names[(names.index(name) + 1) % 3]
            answers.append((-1.0 if choice.strip() == best else -9.0, False))
        return answers

    def loglikelihood_rolling(self, requests):
        """Refuse: no task needs it."""
        raise NotImplementedError

    def generate_until(self, requests):
        """Return a sentence, or for each third prompt the word alone."""
        answers = []
        for prompt, _ in (request.args for request in requests):
            name = next(name for sides, name in SHAPES.items() if f"{sides} sides" in prompt)
            text = name if self.is_right(prompt) else "circle"
            answers.append(text if sha256(prompt.encode()).digest()[1] % 3 else f"It is a {text}.")
        return answers


def main():
    """Write the files."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        docs = [
            {"number": number, "sides": 3 + number % 3, "label": number % 3, "name": SHAPES[3 + number % 3]}
            for number in range(120)
        ]
        data = folder / "shapes.jsonl"
        data.write_text("".join(f"{json.dumps(doc)}\n" for doc in docs), encoding="utf-8")
        for task, text in (("shapes", CHOICE), ("shapes_words", WORDS)):
            (folder / f"{task}.yaml").write_text(text.format(data=data), encoding="utf-8")
        for model, share, tasks in (("before", 0.9, ["shapes", "shapes_words"]), ("after", 0.7, ["shapes"])):
            tracker = EvaluationTracker(output_path=str(HERE))
            manager = TaskManager(include_path=str(folder), include_defaults=False)
            results = simple_evaluate(
                Shapes(share), tasks=tasks, task_manager=manager, log_samples=True, evaluation_tracker=tracker
            )
            samples = results.pop("samples")
            results["config"]["model"] = "shapes"
            tracker.general_config_tracker.model_source = "shapes"
            tracker.general_config_tracker.model_name = model
            tracker.general_config_tracker.model_name_sanitized = model
            tracker.save_results_aggregated(results=results, samples=samples)
            for task in tasks:
                tracker.save_results_samples(task_name=task, samples=samples[task])
            print(model, results["results"])


if __name__ == "__main__":
    main()
