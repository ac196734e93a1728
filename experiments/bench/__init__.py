"""Measures of how the suite performs: ``python -m experiments.bench`` (or ``make bench``).

A claim is a ratio of two figures that were taken in the same run on the same machine, in turns. Neither
pytest-benchmark nor pyperf is used: both repeat one stateless call, and what is timed here is the next step of an
engine or a memory that has a long past, next to that of its rival.
"""
