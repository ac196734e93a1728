"""Thought and answer, told apart by the tags that models put around their thoughts."""

from __future__ import annotations

import re

_OPENED = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.IGNORECASE | re.DOTALL)
_ONLY_CLOSED = re.compile(r"(.*)</think>", re.IGNORECASE | re.DOTALL)


def split(text: str) -> tuple[list[str], str]:
    """Thoughts, and the text without them, also where one of the two tags is missing.

    Behind an opening tag that nothing closes everything is thought, as is everything before a closing tag that nothing
    opens.
    """
    thoughts, rest = _OPENED.findall(text), _OPENED.sub("\n", text)
    if lone := _ONLY_CLOSED.match(rest):
        return [lone[1], *thoughts], rest[lone.end() :]
    return thoughts, rest
