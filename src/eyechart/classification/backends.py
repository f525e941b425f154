"""The models of image classification: k nearest neighbours, linear probes, and files of answers."""

from eyechart.models.registry import MODELS, Backend

KNN = Backend(
    "eyechart.classification.protocols.knn:KnnModel",
    frozenset({"neighbours"}),
    extras=MODELS,
    parts={"encoder": "timm[]"},
)
LINEAR_PROBE = Backend(
    "eyechart.classification.protocols.linear_probe:LinearProbe",
    frozenset({"probe"}),
    extras=MODELS,
    parts={"encoder": "timm[]"},
)
REPLAY = Backend("eyechart.classification.protocols.replay:Replay", frozenset({"answers"}), uses_device=False)
