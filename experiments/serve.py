"""Serves a model until Ctrl-C: ``python -m experiments.serve model=...`` (or ``make serve MODEL=...``)."""

from __future__ import annotations

import os
import sys

import hydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from experiments.models.llm.client import OpenAIModel
from experiments.models.llm.faults import ModelUnusable
from experiments.models.llm.servers import address
from experiments.settings import CONFIGS


def served(config: DictConfig) -> list[str]:
    """The command that serves the configuration's action model.

    Raises:
        ModelUnusable: If the model is none that is served here, or this machine lacks what it needs.
    """
    model = instantiate(OmegaConf.to_container(config.model, resolve=True))
    if not isinstance(model, OpenAIModel):
        raise ModelUnusable(f"model={config.model_label} needs no server")
    if model.server is None:
        raise ModelUnusable(f"{model.name} is not served here: it is asked at {model.base_url}")
    return model.server.command(*address(model.base_url))


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="config")
def main(config: DictConfig) -> None:
    """Become the server's process."""
    try:
        command = served(config)
    except ModelUnusable as error:
        sys.exit(f"error: {error}")
    print(f"serving {config.model.name} at {config.model.base_url}: {' '.join(command)}", flush=True)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
