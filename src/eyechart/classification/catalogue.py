"""Mill's tables and those of "MLLMs as Image Classifiers" by name, in the order of arXiv 2603.06578."""

from eyechart.classification.tables import (
    agreement_tables,
    category_tables,
    class_ablations,
    memory,
    multiple_choice_tables,
    out_of_prompt_tables,
    published_tables,
    text_protocols,
    weasel,
)
from eyechart.classification.tables.annotation_outcomes import ANNOTATION_OUTCOMES, OUTCOME_PIES

TABLES = (
    published_tables.PUBLISHED,
    category_tables.CATEGORY_SIZES,
    category_tables.LABEL_CATEGORIES,
    category_tables.LABEL_CHANGE,
    out_of_prompt_tables.OUT_OF_PROMPT,
    text_protocols.CLOSED_AND_OPEN,
    multiple_choice_tables.BEST_MODEL_TABLE,
    weasel.WEASEL_ACCURACY,
    weasel.WEASEL_RECALL,
    agreement_tables.AGREEMENT,
    class_ablations.BATCH_TABLE,
    class_ablations.ORDER_TABLE,
    class_ablations.POSITIONS,
    class_ablations.ANSWER_TABLE,
    out_of_prompt_tables.MAPPED,
    out_of_prompt_tables.OUT_OF_PROMPT_KINDS,
    multiple_choice_tables.REPEATED_TABLE,
    class_ablations.ENCODER_TABLE,
    multiple_choice_tables.SETTING_TABLE,
    ANNOTATION_OUTCOMES,
    memory.MEMORY,
)
FIGURES = (category_tables.LABEL_CHANGES, OUTCOME_PIES, agreement_tables.AGREEMENTS)
NUMBERS = ("T4", "mill-imagenet", "T6", "T5", "T15", "T16", "T19", "T11", "T12", "T13", "T14", "T17", "T18")
# Of the tables of the overview; T7 is a part of T19.
OVERVIEW = tuple(table for number in NUMBERS for table in TABLES if number in (table.alias, table.name))
