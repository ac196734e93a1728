"""Foreign text as plain data: nothing in it can end its block, or begin another message of a prompt."""

from __future__ import annotations

import re

# Tags that the prompts of this project, or the models, give a meaning to.
_OURS = "memory|observation|evidence|history|items|goal|state"
_MODELS = "think|tool_call|tool_response|inst|sys|s|bos|eos|unk|pad|system|user|assistant|start_of_turn|end_of_turn"
# A few blanks, and attributes of the tag, do not hide it.
_TAG = re.compile(
    rf"[<\[]{{1,2}}\s{{0,4}}(/?\s{{0,4}}(?:{_OURS}|{_MODELS})(?:\s[^<>\[\]]*)?)/?[>\]]{{1,2}}", re.IGNORECASE
)
# Chat templates write their markers as <|name|>, some of them with a wide bar.
_OPEN, _CLOSE = re.compile(r"<[|｜]"), re.compile(r"[|｜]>")


def neutralise(text: str) -> str:
    """The text with markers of chat templates and the prompts' own tags put in parentheses.

    Half of a cut character, which no file and no request can hold, becomes U+FFFD.
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _TAG.sub(r"(\1)", _CLOSE.sub(")", _OPEN.sub("(", whole)))


def one_line(text: str) -> str:
    """The text on one line, with single blanks: a line break cannot forge a heading or another item."""
    return " ".join(text.split())
