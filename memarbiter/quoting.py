"""Foreign text as plain data: nothing in it can end its block, or begin another message of a prompt."""

from __future__ import annotations

import re

# Tags that models, or the prompts of this project, give a meaning to.
_TAG = re.compile(
    r"[<\[]{1,2}\s*(/?\s*(?:memory|observation|evidence|history|items|think|inst|sys|s|bos|eos"
    r"|start_of_turn|end_of_turn))\s*[>\]]{1,2}",
    re.IGNORECASE,
)


def neutralise(text: str) -> str:
    """The text with markers of chat templates and the prompts' own tags put in parentheses."""
    return _TAG.sub(r"(\1)", text.replace("<|", "(").replace("|>", ")"))


def one_line(text: str) -> str:
    """The text on one line, with single blanks: a line break cannot forge a heading or another item."""
    return " ".join(text.split())
