"""From a model's reply to the one command that is sent.

The rules, in this order:

- Text in ``<think>`` tags is thought, also where one of the two tags is missing.
- The first ``Action:`` label with a command behind it decides. That command is sent even if the game knows no
  such command: it is then the agent's failure. A label followed by nothing, or by a thought, does not count.
- A JSON object with an ``action`` is read by the same rule.
- Without such a label, the first line that as a whole is a command of the game decides.
- Otherwise the reply is unparsable, and nothing is sent.

What follows the first command is dropped; further commands in it are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.thoughts import split

_NAME = r"[a-z]+ \d+"
_COMMAND = re.compile(
    rf"(?:go to {_NAME}|(?:open|close|examine|use) {_NAME}|take {_NAME} from {_NAME}|move {_NAME} to {_NAME}"
    rf"|(?:heat|clean|cool|slice) {_NAME} with {_NAME}|look|inventory|help)\b"
)
#: For models that keep to a form only when they are made to: a JSON object whose action is a command of the game.
ACTION_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 80},
        "action": {
            "type": "string",
            "pattern": "^(go to N|open N|close N|examine N|use N|take N from N|move N to N|heat N with N|cool N with N"
            "|clean N with N|slice N with N|look|inventory)$".replace("N", "[a-z]{1,20} [0-9]{1,2}"),
        },
    },
    "required": ["thought", "action"],
    "additionalProperties": False,
}

_PLACING = re.compile(r"(?:put|place) (.+?) (?:in/on|into|onto|inside|in|on) (.+)")
_NEXT_CLAUSE = re.compile(r"\s*(?:[;,.(]|(?:and|then)\b)")

_LABEL = re.compile(r"(?<![a-z])(think|thought|action|observation)s?(?: ?\d+)?[*_`\"\]]* ?[:：]", re.IGNORECASE)
_CUT_LABEL = re.compile(r" obs[a-z]*$")
_FENCE = re.compile(r"\s*(?:```|~~~)\w*\s*")
_DECORATION = re.compile(r"<\|[^|<>]*\|>|[*`\"“”«»\[\]{}]")
_NUMBERED = re.compile(r"\d+[.)] ")
_EDGES = " _'‘’<>#•-.,;:!()"


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply says.

    Attributes:
        command: The command to send, one line in the game's spelling; None if the reply is unparsable.
        thought: What stands before the command, without labels; everything if there is no command.
        notes: What had to be done to the reply, for the log.
        dropped: Number of further commands in the reply.
    """

    command: str | None
    thought: str
    notes: tuple[str, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line, or the part of a line that stands behind a label (lower case; empty if there is none).

    ``leading`` is False for a label in the middle of a line, which may be a word of a sentence ("the best action:").
    """

    label: str
    text: str
    leading: bool = True

    @property
    def is_command(self) -> bool:
        return not self.label and _COMMAND.fullmatch(normalise(self.text)) is not None


def parse_reply(raw: str) -> ParsedReply:
    """Find the one command of a reply; never raises."""
    thinking, answer = split(raw)
    pieces = list(_pieces(answer))
    labelled = list(_labelled(pieces))
    found = labelled or [index for index, piece in enumerate(pieces) if piece.is_command]
    if not found:
        note = "no command found" if raw.strip() else "empty reply"
        return ParsedReply(None, _thought(thinking, pieces), (note,))
    first = found[0]
    command, more = _first_clause(normalise(pieces[first].text))
    later = set(found[1:]) | {i for i in range(first + 1, len(pieces)) if pieces[i].is_command}
    dropped = len(later) + more
    remarks = {
        "no action label": not labelled,
        "thinking removed": bool(thinking),
        "form corrected": command != pieces[first].text.strip(),
        f"extra actions dropped: {dropped}": dropped > 0,
    }
    notes = tuple(remark for remark, applies in remarks.items() if applies)
    return ParsedReply(command, _thought(thinking, pieces[:first]), notes, dropped)


def normalise(text: str) -> str:
    """A command in the game's spelling: lower case, single blanks, no decoration, ``move`` for placing.

    Older games had another wording for placing; a model that learnt it is understood.
    """
    bare = " ".join(_DECORATION.sub("", text).lower().split())
    bare = _CUT_LABEL.sub("", _NUMBERED.sub("", bare, count=1) if _NUMBERED.match(bare) else bare).strip(_EDGES)
    placing = _PLACING.fullmatch(bare)
    return f"move {placing[1]} to {placing[2]}" if placing else bare


def _pieces(answer: str) -> Iterator[_Piece]:
    for line in answer.splitlines():
        if _FENCE.fullmatch(line):
            continue
        labels = list(_LABEL.finditer(line))
        starts = [label.start() for label in labels] + [len(line)]
        yield _Piece("", line[: starts[0]])
        for label, end in zip(labels, starts[1:], strict=True):
            leading = not line[: label.start()].strip(_EDGES + '*`"[')
            yield _Piece(label[1].lower(), line[label.end() : end], leading)


def _labelled(pieces: list[_Piece]) -> Iterator[int]:
    """Indices of the pieces that hold a labelled command: behind the label, or on the next line with text."""
    for index, piece in enumerate(pieces):
        if piece.label != "action":
            continue
        here = index
        while not normalise(pieces[here].text) and here + 1 < len(pieces) and not pieces[here + 1].label:
            here += 1
        command = normalise(pieces[here].text)
        if command and (piece.leading or _COMMAND.match(command)):
            yield here


def _first_clause(command: str) -> tuple[str, bool]:
    """Cut "go to desk 1, then look" behind its first command; True if another command followed."""
    first = _COMMAND.match(command)
    if not first or not _NEXT_CLAUSE.match(command, first.end()):
        return command, False
    return first[0], _COMMAND.search(command, first.end()) is not None


def _thought(thinking: Iterable[str], pieces: Iterable[_Piece]) -> str:
    texts = [*thinking, *(piece.text for piece in pieces)]
    return "\n".join(text for text in (text.strip(" \t\r\n*_`>#") for text in texts) if text)
