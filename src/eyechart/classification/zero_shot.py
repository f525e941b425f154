"""Zero-shot classification: the class whose prompts are most similar to the image in the space of an encoder.

Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision", section 3.1.2.
"""

from eyechart.classification.scoring import Predictions, as_predictions
from eyechart.data.class_names import check_length
from eyechart.data.dataset import Dataset
from eyechart.inference.arrays import nothing
from eyechart.inference.class_weights import Wording, check_weights, scores
from eyechart.inference.runner import Asker
from eyechart.models.types import Encoder


def zero_shot(runner: Asker, model: Encoder, dataset: Dataset, wording: Wording) -> Predictions:
    """Cosine similarity of every image with every class."""
    check_length(dataset, wording.names, wording.names_by)
    seen, weights = runner.features(model, dataset), runner.weights(model, wording)
    check_weights(model, weights)
    found = seen.values if nothing(seen) else scores(seen.values, weights)
    variant = {"names": wording.names_by, "templates": wording.templates_by}
    return as_predictions(dataset, found, seen, variant)
