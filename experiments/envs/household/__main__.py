"""``python -m experiments.envs.household``: write the household games to a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.envs.base import TaskSetError
from experiments.envs.household.generate import ensure, hash_games, is_complete, request
from experiments.envs.household.planning import SPLITS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.envs.household", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to make (complete or absent)")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--split", choices=sorted(SPLITS), default="valid_unseen")
    parser.add_argument("--tasks", type=int, help="how many, spread over the types (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="processes; the games do not depend on it")
    args = parser.parse_args()
    try:
        wanted = request(args.seed, args.split, args.tasks)
        if is_complete(args.out, wanted):
            print(f"{args.out} is complete already: {wanted.tasks} games. Nothing to do.")
            return 0
        ensure(args.out, args.seed, args.split, args.tasks, args.jobs)
    except TaskSetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{args.out}: {wanted.tasks} games, sha256 {hash_games(args.out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
