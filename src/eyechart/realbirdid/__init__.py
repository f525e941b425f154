"""Numbers about birds: species, flat lists, words and reasons not to answer; and `python -m eyechart.realbirdid`."""
