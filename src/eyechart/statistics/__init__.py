"""Pure functions on arrays: import the module that is meant: `from eyechart.statistics.accuracy import correctness`.

Classes are counted from 0. Label arrays are (n, L), padded with -1. An outcome is 1 (correct), 0 (wrong) or NaN
(unscored).
"""
