"""Plays commands on textworld's stock engine: `python stock.py GAME` reads them as JSON and writes what it said.

A process of its own, since ours has shortcuts in textworld's modules.
"""

from __future__ import annotations

import json
import sys

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs.pddl import PddlEnv


def main() -> None:
    """Write one (feedback, admissible commands, won) before the first command and after each."""
    env = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
    env.load(sys.argv[1])
    states = [env.reset(), *(env.step(command)[0] for command in json.load(sys.stdin))]
    json.dump([[state["feedback"], state["admissible_commands"], state["won"]] for state in states], sys.stdout)
    assert "experiments.envs.shortcuts" not in sys.modules


if __name__ == "__main__":
    main()
