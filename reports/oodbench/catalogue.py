"""OODBench's tables and figures by name, in the order of arXiv 2602.18094."""

from . import (
    ablations,
    charts,
    coverage,
    degradation,
    detectors,
    division,
    existence,
    figures,
    hard_sample_charts,
    hard_samples,
    logit_charts,
    logits,
    mmd,
    overlap,
    progression,
    signatures,
    spread,
)

TABLES = (
    *division.TABLES,
    *coverage.TABLES,
    *hard_samples.TABLES,
    *spread.TABLES,
    *logits.TABLES,
    *progression.TABLES,
    *existence.TABLES,
    *degradation.TABLES,
    *signatures.TABLES,
    *ablations.TABLES,
    *detectors.TABLES,
    *mmd.TABLES,
    *overlap.TABLES,
)
FIGURES = (*charts.FIGURES, *hard_sample_charts.FIGURES, *logit_charts.FIGURES, *figures.FIGURES)
