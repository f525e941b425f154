"""The two numbers of Table 2 of RealBirdID."""


def summary(ig, ua_a, labels="all species"):
    """IG and UA/A of a model."""
    return [("ig", labels, "answerable", ig / 100, 30, (0.1, 0.9)), ("ua_a", labels, "all", ua_a / 100, 40, (0.2, 0.8))]
