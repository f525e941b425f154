"""What tests of realbirdid/tables share."""

Q, A, V = "image quality", "angle/occlusion", "vocalization"


def numbers(level="naive", given=(0.5, 0.25, 0), points=(0.1, 0.4, 0.4), test=(6.5, 0.0388), images="unanswerable"):
    """The numbers of one level."""
    mean = sum(points) / len(points)
    made = [
        ("abstention", f"{images}/{level}", mean, (0.2, 0.4)),
        ("abstention_sd", f"{images}/{level}", 0.1732, None),
        *(("abstention", f"{images}/{level}/{at:02}", point, (0, 1)) for at, point in enumerate(points, 1)),
        *(
            (name, f"{images}/{level}", value, None)
            for name, value in zip(("cochran_q", "cochran_p"), test, strict=True)
        ),
        *(("p_abstain", f"{issue}/{level}", share, None) for issue, share in zip((Q, A, V), given, strict=True)),
        ("correct_reason", level, 0.6, None),
    ]
    return [(name, "observations", category, value, 40, ci) for name, category, value, ci in made]


ACTIONS = ("answer", "abstain")


def said(level="naive", answers=()):
    """Rows of answers: image, its issue, and the reason given, nothing for one that does not abstain."""
    return [
        {"prompt_level": level, "prompt": f"{level}/{at:02}", "key": key, "observation": key,
         "target": ACTIONS[bool(issue)], "reason": issue, "stated_reason": reason or "none",
         "prediction": ACTIONS[bool(reason)]}
        for at, (key, issue, reason) in enumerate(answers)
    ]  # fmt: skip


ANSWERS = [("1", Q, Q), ("1", Q, Q), ("2", Q, ""), ("3", A, Q), ("3", A, A), ("4", A, Q), ("5", V, "another reason"),
           ("6", "", Q)]  # fmt: skip
