"""The ``household`` task set: games of our own making for ALFWorld's engine (docs/household.md).

Nothing is downloaded: floor plans, rules, text grammar and goal wordings ship with the ``alfworld`` package;
what lies where comes from a seed. The same seed gives the same bytes, and every game is proved solvable.
"""

from experiments.envs.household.generate import ensure

__all__ = ["ensure"]
