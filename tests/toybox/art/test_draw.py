"""Draws are the same on every machine."""

from eyechart.toybox.art.draw import Draw


def test_draws_are_the_ones_that_python_promises() -> None:
    draw = Draw(42, "sample", 0)
    assert [draw.below(100) for _ in range(4)] == [57, 54, 24, 42]
    assert draw.noise(2, 2).tolist() == [[-63, -47], [94, 12]]
