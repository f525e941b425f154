"""Answers about the existence of categories."""

GOOD, POOR, DEAF = "yn", "ny", "nn"
COCO = {"ID": GOOD * 8 + "nn" * 2, "OOD-S": GOOD * 3 + POOR * 7, "OOD-H": "nn" * 4}
LVIS = {"ID": GOOD * 4, "OOD-S": "yy" * 4 + "??" * 2, "OOD-H": GOOD}


def ask_two_models(existing):
    """Two models about COCO and LVIS, the second with reasoning, too."""
    for model in ("hf[a]", "hf[b]"):
        existing(model, "coco", COCO)
        existing(model, "lvis", LVIS)
    existing("hf[b]", "coco", {**COCO, "ID": GOOD * 9 + "!n"}, reasoning="cot", prompt="existence_cot (1)")
    existing("hf[b]", "lvis", LVIS, reasoning="cot", prompt="existence_cot (1)")
    return existing.bench


def falls(deaf):
    """Answers that are right in distribution, and deny some of what is out of it."""
    return {"ID": GOOD * 19 + DEAF, "OOD-S": GOOD * 20, "OOD-H": DEAF * deaf + GOOD * (20 - deaf)}
