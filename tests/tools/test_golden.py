"""tools/golden.py writes the cases of one protocol, and leaves those of others as they are."""

import golden


def test_one_protocol_is_written_alone() -> None:
    kept = {"run": 1, "a/b/c[] mcq": 1, "a/gone/c[] mcq": 1, "a/b/c[] posterior": 1}
    now = {"run": 2, "a/b/c[] mcq": 2, "a/new/c[] mcq": 2, "a/b/c[] posterior": 2}
    assert golden.with_cases_of("mcq", kept, now) == {
        "run": 1,
        "a/b/c[] mcq": 2,
        "a/new/c[] mcq": 2,
        "a/b/c[] posterior": 1,
    }
