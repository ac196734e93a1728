"""All conditions of the paper's tables: ``python -m experiments.reproduce env=household`` (or ``make reproduce``).

``configs/reproduce.yaml`` lists them. All are played together, task by task, so that each game is loaded once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig

from experiments.console import command
from experiments.settings import CONFIGS, Settings, SettingsError, run_name, set_name


def conditions(config: DictConfig) -> Iterator[Settings]:
    """The settings of every condition, each with its own folder below ``config.out``.

    Raises:
        SettingsError: If a condition cannot be composed.
    """
    models, env = list(config.models), config.env
    out = Path(config.out or Path("runs", set_name(env.name, models[0], env.tasks, config.seed))).expanduser()
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        for model in models:
            for condition in config.conditions:
                values = {**condition, "model": model, "seed": config.seed, "jobs": config.jobs or "null"}
                try:
                    composed = hydra.compose(
                        "config", [*(f"{key}={value}" for key, value in values.items()), *config.set]
                    )
                except HydraException as error:
                    raise SettingsError(str(error)) from error
                composed.env = env  # The task set with everything that was changed of it on the command line.
                settings = Settings.of(composed)
                folder = out.absolute().joinpath(*run_name(settings)[1:])
                yield settings.model_copy(update={"out": str(folder)})


if __name__ == "__main__":
    sys.exit(command("reproduce", lambda config: list(conditions(config))))
