"""Facts that list things: what a place holds. A thing is in one place only, so such facts are kept by place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memarbiter.items import Bank, CandidateWrite, Status
from memarbiter.writing.llm.grounding import Episode
from memarbiter.writing.llm.schema import WriteAnswer

CONTENTS = "contents"
_LOCATIONS = frozenset({"location", "place", "position"})
_NOTHING = frozenset({"nothing", "empty", "none"})
_ASIDE = re.compile(r"\([^()]*\)")
_BETWEEN = re.compile(r"\b(?:an?|the|and)\b|[\s,;.]+")


def listed(value: str, episode: Episode) -> tuple[str, ...] | None:
    """The entities of a text that does nothing but list them, or says that there are none; None for any other text."""
    plain = _ASIDE.sub("", value.lower()).strip(" .")
    if plain in _NOTHING:
        return ()
    names = episode.entities(plain)
    rest = _BETWEEN.sub("", _any_of(names).sub("", plain)) if names else plain
    return None if rest or not names else names


def with_members(text: str, about: str, members: Sequence[str], episode: Episode) -> str:
    """The text with ``{members}`` where it lists them; a plain form if it names other things, or these otherwise."""
    plain = f"{about}: {{members}}"
    if about not in text.lower() or set(episode.entities(text)) - {about} != set(members):
        return plain
    if not members:
        return text
    one = rf"(?:\b(?:an?|the) )?{_any_of(members).pattern}"
    lists = list(re.finditer(rf"{one}(?:(?:,? and |[,;] ){one})*", text, re.IGNORECASE))
    if len(lists) != 1 or len(_any_of(members).findall(text.lower())) != len(members):
        return plain
    return f"{text[: lists[0].start()]}{{members}}{text[lists[0].end() :]}"


def by_place(write: WriteAnswer, contents: Sequence[CandidateWrite], episode: Episode) -> WriteAnswer:
    """A write that gives one thing one place, said as the place's contents; every other write as it is.

    Args:
        write: A write with clean texts.
        contents: What is known, the newest last.
        episode: What has occurred so far.
    """
    things, places = episode.entities(write.subject), listed(write.value, episode) or ()
    locates = write.bank == Bank.REFERENCE and write.status == Status.ACTIVE and write.aspect.lower() in _LOCATIONS
    if not locates or len(things) != 1 or len(places) != 1 or things == places:
        return write
    place = places[0]
    old = next((one for one in reversed(contents) if one.exclusive and one.subject == place), None)
    value = ", ".join(dict.fromkeys((*(old.members if old else ()), *things)))
    text = old.text.replace("{members}", value) if old else place
    return write.model_copy(
        update={"operation": "add", "item": None, "subject": place, "aspect": CONTENTS, "value": value, "text": text}
    )


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
