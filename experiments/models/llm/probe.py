"""What the models' servers are, found out before the first game: the answer goes into the manifest.

Is the server there, which model and version does it run, how long may a prompt be, do JSON schemas really apply (some
servers take the field, answer 200 and ignore it), and does the longest prompt of the run fit?
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import ceil
from typing import Any

from hydra.utils import instantiate
from rich.console import Console

from experiments.agent import render
from experiments.models.llm.client import OpenAIModel, own_tokens
from experiments.models.llm.faults import ModelUnavailable, ModelUnusable
from experiments.models.llm.servers import running
from experiments.settings import Settings
from memarbiter.chat import Message, ModelCall, ModelReply, Outcome

Facts = dict[str, Any]

_WORD = "zq7"
_SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "string", "enum": [_WORD]}},
    "required": ["value"],
    "additionalProperties": False,
}
_LARGE_GAP = 1.3


@contextmanager
def model_servers(runs: Sequence[Settings], console: Console) -> Iterator[list[dict[str, Facts]]]:
    """Start the servers that runs start by themselves, and ask all servers who they are.

    Args:
        runs: The runs that have something to play.
        console: Where warnings are shown.

    Yields:
        For each run what its servers are, by role: ``act`` for the action model, ``memory`` for the memory's.

    Raises:
        ModelStop: If a server is not there, or not what the run needs.
    """
    configs = [_configs(settings) for settings in runs]
    known: dict[str, OpenAIModel] = {}
    for config in (config for by_role in configs for config in by_role.values()):
        known.setdefault(repr(config), instantiate(config)).check_address()
    with ExitStack() as stack:
        for url, model in {model.base_url: model for model in known.values()}.items():
            if model.server is not None and model.server.automatic:
                console.print(f"starting {model.name} on this machine", markup=False, highlight=False)
                stack.enter_context(running(model.server, url))
        facts = {key: asyncio.run(probe(model)) for key, model in known.items()}
        for key, model in known.items():
            for warning in warnings(model, facts[key]):
                console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False, soft_wrap=True)
        for settings, by_role in zip(runs, configs, strict=True):
            for role, config in by_role.items():
                check_fit(settings, role, known[repr(config)], facts[repr(config)])
        if known and (unlimited := sorted({run.method.name for run in runs if not run.method.budgeted})):
            console.print(
                f"note: {' and '.join(unlimited)} know no budget; an episode whose prompt outgrows the model's window "
                "ends as 'context_overflow'",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        yield [{role: facts[repr(config)] for role, config in by_role.items()} for by_role in configs]


async def probe(model: OpenAIModel) -> Facts:
    """What the server of a model is.

    Raises:
        ModelUnusable: If it is not there, lacks the model or does not apply JSON schemas.
    """
    listed, version, properties = [await model.get(path) for path in ("/models", "//version", "//props")]
    entry = _entry(model, listed)
    frame = render("put a mug in shelf.", "You are in the middle of a room.", "")
    first = await _ask(model, ModelCall(frame, "probe", 0, purpose="probe"))
    return {
        "model": model.name,
        "serves": entry.get("root") or entry.get("id"),
        "version": _version(version, properties),
        "window": _window(entry, properties),
        "structured_outputs": await _structured(model),
        "frame_tokens": {"own": own_tokens(frame), "server": first.prompt_tokens},
        "thinks": bool(first.thinking),
    }


def warnings(model: OpenAIModel, facts: Facts) -> Iterator[str]:
    """What is allowed, but rarely meant."""
    if facts["thinks"] and model.parameters.get("temperature") == 0:
        yield (
            f"{model.name} thinks before it answers, at temperature 0, where thoughts often never end; switch thinking "
            "off, e.g. model.parameters.chat_template_kwargs.enable_thinking=false"
        )
    gap = _gap(facts)
    if gap > _LARGE_GAP:
        yield (
            f"{model.name}: the server counts {gap:.2f} times the tokens that we count; budgets of different models "
            "are alike in our count only"
        )


def check_fit(settings: Settings, role: str, model: OpenAIModel, facts: Facts) -> None:
    """Whether the longest prompt and its answer fit the window.

    Raises:
        ModelUnusable: If they do not: the message names the parts.
    """
    window = model.window
    if facts["window"] is not None and facts["window"] < window:
        raise ModelUnusable(
            f"{model.name} is served with a window of {facts['window']} tokens, and the settings count on {window}: "
            f"serve it with more, or set model.window={facts['window']}"
        )
    for what, ours, answer in _longest(settings, role, model):
        prompt = ceil(ours * max(_gap(facts), 1.0))
        if prompt + answer > window:
            raise ModelUnusable(
                f"{what} can take {prompt} tokens and its answer {answer}, together more than {model.name}'s window of "
                f"{window}: lower the budget, the answer's limit (answer_tokens) or the question's (input_tokens)"
            )


def _longest(settings: Settings, role: str, model: OpenAIModel) -> Iterator[tuple[str, int, int]]:
    """What is asked, its most tokens by our count, and the most tokens of the answer."""
    if role == "act":
        frame = own_tokens(render("", "", ""))
        budget = settings.condition.budget or 0
        yield "a step's prompt", frame + budget + settings.agent.observation_tokens, model.answer_tokens["act"]
        return
    formation = settings.method.memory["formation"]
    for part, purpose in (("parser", "parse"), ("writer", "write")):
        if "input_tokens" in formation.get(part, {}):
            yield f"a question of the {part}", formation[part]["input_tokens"], model.answer_tokens[purpose]
    if "input_tokens" in formation:
        yield "a question of the memory", formation["input_tokens"], model.answer_tokens["parse_and_write"]


def _configs(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """The configurations of models with a server, by role."""
    found = {"act": _first(settings.model), "memory": _first(settings.method.memory)}
    return {role: config for role, config in found.items() if config is not None}


def _first(config: Any) -> Mapping[str, Any] | None:
    """The first model with a server in a configuration."""
    if isinstance(config, Mapping):
        if "base_url" in config and "_target_" in config:
            return config
        return next((found for inner in config.values() if (found := _first(inner)) is not None), None)
    return None


def _entry(model: OpenAIModel, listed: Any) -> Mapping[str, Any]:
    """The model's entry in the server's list; empty where a server keeps none."""
    entries = listed.get("data") if isinstance(listed, Mapping) else None
    if not isinstance(entries, list):
        return {}
    by_name = {entry.get("id"): entry for entry in entries if isinstance(entry, Mapping) and _named(entry)}
    if by_name and model.name not in by_name:
        some = ", ".join(sorted(map(str, by_name))[:8])
        raise ModelUnusable(f"the server at {model.base_url} has no model {model.name}; it has: {some}. Set model.name")
    found: Mapping[str, Any] = by_name.get(model.name, {})
    return found


def _named(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("id"), str)


async def _ask(model: OpenAIModel, call: ModelCall) -> ModelReply:
    """One answer."""
    try:
        return await model.reply(call)
    except ModelUnavailable as error:
        raise ModelUnusable(f"{error}; start its server (`make serve`), or name another with model.base_url") from None


async def _structured(model: OpenAIModel) -> str:
    """Ask for one fixed value, whatever the question says: only a schema that is applied can bring it about."""
    if not model.structured_outputs:
        return "off"
    question = Message("user", "Name a colour.")
    reply = await _ask(model, ModelCall([question], "probe", 0, purpose="probe", schema=_SCHEMA))
    try:
        applied = json.loads(reply.text) == {"value": _WORD}
    except ValueError:
        applied = False
    if not applied:
        got = f"{reply.text[:80]!r}" if reply.outcome is Outcome.ANSWERED else str(reply.outcome)
        raise ModelUnusable(
            f"{model.name} at {model.base_url} takes a JSON schema and does not follow it (got {got}): set "
            "structured_outputs=false for this model, and JSON is asked for in words alone"
        )
    return "applied"


def _version(version: Any, properties: Any) -> str | None:
    for told, name in ((version, "version"), (properties, "build_info")):
        if isinstance(told, Mapping) and told.get(name):
            return str(told[name])
    return None


def _window(entry: Mapping[str, Any], properties: Any) -> int | None:
    """What the server says of its window: vLLM in the model's entry, llama.cpp in its properties."""
    settings = properties.get("default_generation_settings") if isinstance(properties, Mapping) else None
    for told, name in ((entry, "max_model_len"), (settings, "n_ctx")):
        if isinstance(told, Mapping) and isinstance(told.get(name), int):
            return int(told[name])
    return None


def _gap(facts: Facts) -> float:
    counts = facts["frame_tokens"]
    return counts["server"] / counts["own"] if counts["server"] and counts["own"] else 1.0
