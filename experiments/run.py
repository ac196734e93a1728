"""One run: ``python -m experiments.run method=memarbiter budget=500 env=household model=reader``.

All settings and their meaning are in ``configs/``; ``--help`` lists them. With ``-m``, values separated by commas
are swept over. The same command continues an interrupted run.
"""

from __future__ import annotations

import sys

from experiments.console import command
from experiments.settings import Settings

if __name__ == "__main__":
    sys.exit(command("config", lambda config: [Settings.of(config)]))
