"""Writes the files in this folder with lmms-eval 0.7.3: `pip install lmms_eval && python write.py`.

Two models answer a question about each of 120 pictures of shapes; the task has a metric that is a number, and one that
is an object with a score and a category.
"""

import json
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from datasets import Dataset, DatasetDict
from lmms_eval.api.model import lmms
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.loggers import EvaluationTracker
from lmms_eval.tasks import TaskManager
from PIL import Image

HERE = Path(__file__).parent
SHAPES = ("circle", "square", "triangle")
TASK = """
task: shapes
dataset_path: {data}
dataset_kwargs: {{load_from_disk: true}}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.pictures
doc_to_text: !function utils.question
doc_to_target: shape
process_results: !function utils.scores
generation_kwargs: {{max_new_tokens: 8}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
  - {{metric: by_colour, aggregation: !function utils.mean_score, higher_is_better: true}}
metadata: [{{version: 0.0}}]
"""
UTILS = """
def pictures(doc):
    return [doc["image"].convert("RGB")]


def question(doc, lmms_eval_specific_kwargs=None):
    return f"Which shape is in picture {doc['number']}?"


def scores(doc, results):
    right = float(results[0].strip().lower() == doc["shape"])
    details = {"question_id": doc["number"], "category": doc["colour"], "score": right}
    return {"exact_match": right, "by_colour": details}


def mean_score(items):
    return sum(item["score"] for item in items) / len(items)
"""


class Shapes(lmms):
    """A model that is right about a share of the pictures, which depends on the question alone."""

    def __init__(self, share):
        super().__init__()
        self.share = share

    def generate_until(self, requests):
        """Return the name of a shape."""
        answers = []
        for request in requests:
            text = request.args[0]
            number = int(text.split()[-1].rstrip("?"))
            is_right = sha256(text.encode()).digest()[0] / 256 < self.share
            answers.append(SHAPES[number % 3] if is_right else "hexagon")
        return answers

    def loglikelihood(self, requests):
        """Refuse: no task needs it."""
        raise NotImplementedError

    def generate_until_multi_round(self, requests):
        """Refuse: no task needs it."""
        raise NotImplementedError


def main():
    """Write the files."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            {
                "number": number,
                "image_id": f"picture-{number // 2}",
                "shape": SHAPES[number % 3],
                "colour": ("navy", "gold")[number % 2],
                "image": Image.new("RGB", (8, 8), (number, 0, 0)),
            }
            for number in range(120)
        ]
        DatasetDict({"test": Dataset.from_list(rows)}).save_to_disk(str(folder / "data"))
        (folder / "tasks").mkdir()
        (folder / "tasks" / "utils.py").write_text(UTILS, encoding="utf-8")
        (folder / "tasks" / "shapes.yaml").write_text(TASK.format(data=folder / "data"), encoding="utf-8")
        for model, share, date in (("before", 0.9, "20261126_060000"), ("after", 0.7, "20261126_070000")):
            tracker = EvaluationTracker(output_path=str(HERE))
            manager = TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
            results = simple_evaluate(
                Shapes(share), tasks=["shapes"], task_manager=manager, log_samples=True, evaluation_tracker=tracker
            )
            samples = results.pop("samples")
            tracker.general_config_tracker.model_source = "shapes"
            tracker.general_config_tracker.model_name = model
            tracker.general_config_tracker.model_name_sanitized = model
            tracker.save_results_aggregated(results=results, samples=samples, datetime_str=date)
            tracker.save_results_samples(task_name="shapes", samples=samples["shapes"])
            print(model, json.dumps(results["results"]))


if __name__ == "__main__":
    main()
