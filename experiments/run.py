"""One run: ``python -m experiments.run method=memarbiter budget=500 env=household model=reader``.

All settings and their meaning are in ``configs/``; ``--help`` lists them. With ``-m``, values separated by commas
are swept over. The same command continues an interrupted run.
"""

from __future__ import annotations

import hydra
from omegaconf import DictConfig

from experiments.console import leave, play_all
from experiments.settings import Settings


@hydra.main(version_base="1.3", config_path="../configs", config_name="config")
def main(config: DictConfig) -> None:
    """Play one condition."""
    leave(play_all(lambda: [Settings.of(config)]))


if __name__ == "__main__":
    main()
