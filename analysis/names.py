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


def method_name(method: str) -> str:
    """The display name of a method; a method the project does not know keeps its own name."""
    return METHODS.get(method, method)


def method_rank(method: str) -> tuple[int, str]:
    """Sort key: the known methods in the tables' order, then all others by name."""
    order = list(METHODS)
    return (order.index(method) if method in METHODS else len(order), method)


def type_name(task_type: str) -> str:
    """The column heading of a task type; an unknown type keeps its own name."""
    return TASK_TYPES.get(task_type, task_type)


def type_rank(task_type: str) -> tuple[int, str]:
    """Sort key: the paper's six types in the paper's order, then all others by name."""
    order = list(TASK_TYPES)
    return (order.index(task_type) if task_type in TASK_TYPES else len(order), task_type)


def model_name(model: str) -> str:
    """The model's own name; the deterministic readers are marked, so that none is taken for an LLM."""
    return f"{model} (not an LLM)" if model in DETERMINISTIC_READERS else model
