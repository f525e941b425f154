"""What servers may reply."""

from hypothesis import strategies as some

json_values = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.sampled_from(["error", "code", "message", "choices", "model", "usage"]), inner)
    ),
    max_leaves=8,
)
