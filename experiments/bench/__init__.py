"""Measures of how the suite performs, on a simulated model server: ``python -m experiments.bench``."""
