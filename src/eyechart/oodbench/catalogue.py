"""OODBench's tables and figures by name, in the order of arXiv 2602.18094."""

from eyechart.oodbench.figures import model_charts
from eyechart.oodbench.tables import (
    coverage,
    degradation_tables,
    detector_tables,
    division_tables,
    existence_tables,
    hard_sample_tables,
    logits,
    mmd_tables,
    overlap_tables,
    pair_ablations,
    progression_tables,
    signatures,
    spread,
)

TABLES = (
    *division_tables.TABLES,
    *coverage.TABLES,
    *hard_sample_tables.TABLES,
    *spread.TABLES,
    *logits.TABLES,
    *progression_tables.TABLES,
    *existence_tables.TABLES,
    *degradation_tables.TABLES,
    *signatures.TABLES,
    *pair_ablations.TABLES,
    *detector_tables.TABLES,
    *mmd_tables.TABLES,
    *overlap_tables.TABLES,
)
FIGURES = (
    *division_tables.FIGURES,
    *hard_sample_tables.FIGURES,
    *spread.FIGURES,
    *logits.FIGURES,
    *model_charts.FIGURES,
)
OVERVIEW = tuple(table for number in range(10, 18) for table in TABLES if table.alias == f"oodbench-T{number}")
