"""``python -m experiments.envs.household.measure DIR [DIR ...]``: how hard a set of games is, in figures.

Reads any folder in ALFWorld's layout and prints a Markdown table, one column per folder. A place counts as
closed if it can be opened and is not open at the start; a thing in two places counts as closed if all are.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

_FACT = re.compile(r"\(([^()]+)\)")


@dataclass(frozen=True, slots=True)
class GameFigures:
    """What one game holds at its start. The lists have one entry per copy of the target."""

    type: str
    walkthrough: int
    places: int
    closed_places: int
    sharing_places: int
    things: int
    closed_things: int
    listed_twice: int
    targets_closed: tuple[bool, ...]
    searched: int
    targets_at_end: int
    ends: int
    closed_ends: int


def read_game(path: Path) -> GameFigures:
    """The figures of one ``game.tw-pddl`` and the ``traj_data.json`` beside it."""
    game = json.loads(path.read_text(encoding="utf-8"))
    task = json.loads(path.with_name("traj_data.json").read_text(encoding="utf-8"))
    params = task["pddl_params"]
    facts = _facts(game["pddl_problem"])
    closed = {place for (place,) in facts["openable"]} - {place for (place,) in facts["opened"]}
    stands = Counter(location for _, location in facts["receptacleAtLocation"])
    kind_of = {name: kind.removesuffix("Type") for name, kind in facts["receptacleType"]}
    within: dict[str, set[str]] = defaultdict(set)
    for thing, place in facts["inReceptacle"]:
        within[thing].add(place)
    targets = [name for name, kind in facts["objectType"] if kind == f"{params['object_target']}Type"]
    placed = [within[name] for name in targets if within[name]]
    ends = {place for place, kind in kind_of.items() if kind == params["parent_target"]}
    return GameFigures(
        type=task["task_type"],
        walkthrough=len(game["walkthrough"]),
        places=len(kind_of),
        closed_places=len(closed),
        sharing_places=sum(count for count in stands.values() if count > 1),
        things=sum(bool(places) for places in within.values()),
        closed_things=sum(bool(places) and places <= closed for places in within.values()),
        listed_twice=sum(len(places) > 1 for places in within.values()),
        targets_closed=tuple(places <= closed for places in placed),
        searched=_searched(kind_of, set().union(*placed)),
        targets_at_end=sum(bool(places & ends) for places in placed),
        ends=len(ends),
        closed_ends=len(ends & closed),
    )


def read_set(root: Path) -> list[GameFigures]:
    """The figures of every game below a folder.

    Raises:
        FileNotFoundError: There is none.
    """
    paths = sorted(root.glob("**/game.tw-pddl"))
    if not paths:
        raise FileNotFoundError(f"{root}: no game.tw-pddl below it; name a folder in ALFWorld's layout.")
    return [read_game(path) for path in paths]


def _searched(places: Iterable[str], holding: set[str]) -> int:
    """Places to visit until one with a target, in the order in which the first observation lists them."""
    order = sorted(places, key=str.lower)
    return next((count for count, place in enumerate(order, start=1) if place in holding), len(order))


def _facts(problem: str) -> dict[str, list[tuple[str, ...]]]:
    """Predicate -> the arguments of every initial fact; predicates that do not occur have none."""
    initial = problem[problem.index("(:init") + len("(:init") : problem.index("(:goal")]
    facts: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for text in _FACT.findall(initial):
        predicate, *arguments = text.split()
        facts[predicate].append(tuple(arguments))
    return facts


def figures(games: Sequence[GameFigures]) -> dict[str, str]:
    """The rows of the table for one set, in order."""
    with_end = [game for game in games if game.ends]
    rows = {
        "games": str(len(games)),
        "walkthrough length": _spread(game.walkthrough for game in games),
    }
    for type, count in sorted(Counter(game.type for game in games).items()):
        lengths = [game.walkthrough for game in games if game.type == type]
        rows[f"{type}: games, walkthrough length"] = f"{count}, {_spread(lengths)}"
    rows |= {
        "places (in the first observation)": _spread(game.places for game in games),
        "places closed at the start": _ratio(games, lambda g: g.closed_places, lambda g: g.places),
        "places that share a location": _spread(game.sharing_places for game in games),
        "games with such places": _share(game.sharing_places > 0 for game in games),
        "things in places": _spread(game.things for game in games),
        "things behind doors": _ratio(games, lambda g: g.closed_things, lambda g: g.things),
        "things listed in more than one place": _spread(game.listed_twice for game in games),
        "games with such things": _share(game.listed_twice > 0 for game in games),
        "copies of the target": _spread(len(game.targets_closed) for game in games),
        "games with one copy only": _share(len(game.targets_closed) == 1 for game in games),
        "copies of the target behind doors": _ratio(
            games, lambda g: sum(g.targets_closed), lambda g: len(g.targets_closed)
        ),
        "games with a copy behind a door": _share(any(game.targets_closed) for game in games),
        "games with every copy behind doors": _share(
            bool(game.targets_closed) and all(game.targets_closed) for game in games
        ),
        "places visited until a target, in listed order": _spread(game.searched for game in games),
    }
    if with_end:
        closed = mean(game.closed_ends / game.ends for game in with_end)
        rows["destination places closed (mean of games)"] = _percent(closed)
        rows["games with a copy already at the destination"] = _share(game.targets_at_end > 0 for game in games)
    return rows


def table(sets: dict[str, Sequence[GameFigures]]) -> str:
    """A Markdown table, one column per set."""
    columns = [figures(games) for games in sets.values()]
    names = list(dict.fromkeys(name for column in columns for name in column))
    lines = [["", *sets], ["---", *("---:" for _ in sets)]]
    lines += [[name, *(column.get(name, "-") for column in columns)] for name in names]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


Count = Callable[[GameFigures], int]


def _spread(values: Iterable[int]) -> str:
    found = list(values)
    return f"{mean(found):.2f} ({min(found)}-{max(found)})"


def _share(values: Iterable[bool]) -> str:
    return _percent(mean(list(values)))


def _ratio(games: Sequence[GameFigures], part: Count, whole: Count) -> str:
    return _percent(sum(map(part, games)) / sum(map(whole, games)))


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.envs.household.measure", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    folders = parser.parse_args().folders
    try:
        print(table({folder.name: read_set(folder) for folder in folders}))
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
