"""The words of the tables: how methods, task types and models are called, and in which order they stand."""

from __future__ import annotations

MAIN_METHODS = ("flat_recency", "flat_retrieval", "memarbiter")
ABLATIONS = ("wo_banks", "wo_signals", "wo_gate")
CONTROLS = ("no_memory", "full_history")
FAMILY = ("memarbiter", *ABLATIONS)

METHODS = {
    "flat_recency": "Flat Recency",
    "flat_retrieval": "Flat Retrieval",
    "memarbiter": "MemArbiter",
    "wo_banks": "w/o Functional Banks",
    "wo_signals": "w/o Dynamic Signals",
    "wo_gate": "w/o Temporal Gate",
    "no_memory": "No memory",
    "full_history": "Full history",
}

TASK_TYPES = {
    "pick_and_place_simple": "Pick",
    "look_at_obj_in_light": "Look",
    "pick_clean_then_place_in_recep": "Clean",
    "pick_heat_then_place_in_recep": "Heat",
    "pick_cool_then_place_in_recep": "Cool",
    "pick_two_obj_and_place": "Pick Two",
}

DETERMINISTIC_READERS = ("reader", "reader_slips")
CHANCE_MODELS = ("local_cpu",)

RULES = "rules"


def method_key(method: str, writing: str | None) -> str:
    """What the rows of a method go by: ``memarbiter`` where rules parse and write, else e.g. ``memarbiter (llm)``.

    Two ways of writing are two rows, never one. A method that knows no such choice (None) goes by its own name, and so
    does a run from before there was one.
    """
    return method if writing in (None, RULES) else f"{method} ({writing})"


def method_of(key: str) -> str:
    """The method of a :func:`method_key`."""
    return key.partition(" (")[0]


def method_name(key: str) -> str:
    """The display name of a method's key; a method the project does not know keeps its own name."""
    method = method_of(key)
    return METHODS.get(method, method) + key.removeprefix(method)


def method_rank(key: str) -> tuple[int, str]:
    """Sort key: the known methods in the tables' order, then all others by name; rules before other writings."""
    order, method = list(METHODS), method_of(key)
    return (order.index(method) if method in METHODS else len(order), key)


def type_name(task_type: str) -> str:
    """The column heading of a task type; an unknown type keeps its own name."""
    return TASK_TYPES.get(task_type, task_type)


def type_rank(task_type: str) -> tuple[int, str]:
    """Sort key: the paper's six types in the paper's order, then all others by name."""
    order = list(TASK_TYPES)
    return (order.index(task_type) if task_type in TASK_TYPES else len(order), task_type)


def model_name(model: str) -> str:
    """The model's own name, marked if it is no LLM at all, or one whose scores are no baseline of anything."""
    if model in DETERMINISTIC_READERS:
        return f"{model} (not an LLM)"
    return f"{model} (chance level, no baseline)" if model in CHANCE_MODELS else model
