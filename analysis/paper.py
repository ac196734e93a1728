"""Every number the paper publishes that the suite sets its own beside, with its source.

All values are percentages as printed. The paper's Table 2, Table 4 and Table 5 are of its open-weight action
model (section 4.1), Table 3 of its proprietary one (section 4.2). Of Figure 3 the text gives no values: its
curves cannot be redrawn. What the tables say about the curves are the ends (SR@50) and a few SR@15 values.

Rounding: Tables 2 and 4 round to two decimals; Table 3 cuts after the second (94 of 134 is printed as 70.14).
"""

from __future__ import annotations

from dataclasses import dataclass

QWEN = "Qwen3.6-27B-FP8"
GPT = "GPT-5.4"
GPT_MODEL = "gpt_5_4"
"""Our configuration name of the model of Table 3."""
OUR_NAMES = {QWEN: "qwen3_6_27b", GPT: GPT_MODEL}
"""Our configuration names of the paper's models; another name is another model."""

CATEGORY_SIZES = {
    "pick_and_place_simple": 24,
    "look_at_obj_in_light": 18,
    "pick_clean_then_place_in_recep": 31,
    "pick_heat_then_place_in_recep": 23,
    "pick_cool_then_place_in_recep": 21,
    "pick_two_obj_and_place": 17,
}
"""Table 2, heading."""

TASKS = 134
"""Section 4.1: the unseen split."""

STEP_LIMIT = 50
"""Section 4.1."""

BUDGETS = (500, 750)
"""Section 4.1, tokens of the memory block."""

EARLY_STEPS = 15
"""The intermediate threshold of Tables 3 and 4."""

ABLATION_BUDGET = 500
"""Section 4.1: Tables 3 and 4 and the ablation row of Table 5b."""


@dataclass(frozen=True, slots=True)
class Success:
    """A row of Table 2: SR@50 by task type, in the order of ``CATEGORY_SIZES``, and overall."""

    by_type: dict[str, float]
    overall: float


def _success(*by_type: float, overall: float) -> Success:
    return Success(dict(zip(CATEGORY_SIZES, by_type, strict=True)), overall)


TABLE2 = {
    (500, "flat_recency"): _success(66.67, 83.33, 70.97, 21.74, 47.62, 0.00, overall=50.75),
    (500, "flat_retrieval"): _success(75.00, 66.67, 83.87, 52.17, 71.43, 0.00, overall=61.94),
    (500, "memarbiter"): _success(95.83, 100.00, 80.65, 73.91, 85.71, 58.82, overall=82.84),
    (750, "flat_recency"): _success(70.83, 83.33, 77.42, 21.74, 42.86, 0.00, overall=52.24),
    (750, "flat_retrieval"): _success(83.33, 72.22, 83.87, 65.22, 76.19, 0.00, overall=67.16),
    (750, "memarbiter"): _success(100.00, 100.00, 93.55, 86.96, 100.00, 70.59, overall=92.54),
}
"""Table 2, section 4.2: (budget, method) -> success rates; model: ``QWEN``."""

TABLE3 = {
    "memarbiter": (70.14, 83.58),
    "flat_retrieval": (68.65, 70.89),
    "flat_recency": (68.65, 73.13),
}
"""Table 3, section 4.2: method -> (SR@15, SR@50) at 500 tokens; action model: ``GPT``."""

TABLE4 = {
    "memarbiter": (64.93, 82.84),
    "wo_banks": (61.19, 67.16),
    "wo_signals": (62.69, 65.67),
    "wo_gate": (67.91, 73.88),
}
"""Table 4, section 4.3: variant -> (SR@15, SR@50) at 500 tokens; model: ``QWEN``."""

TABLE4_CHANGES = {
    "wo_banks": (-3.74, -15.68),
    "wo_signals": (-2.24, -17.17),
    "wo_gate": (2.98, -8.96),
}
"""Table 4, values in parentheses: changes of (SR@15, SR@50) against the full method, percentage points."""

COMMON_FAILURE_TASKS = {500: 29, 750: 32}
"""Section 4.4: tasks on which all three methods fail at least once, by budget."""

TABLE5A = {
    (500, "one_step_recovery"): {"memarbiter": 59.9, "flat_retrieval": 41.7, "flat_recency": 18.5},
    (500, "failed_action_repetition"): {"memarbiter": 26.7, "flat_retrieval": 47.1, "flat_recency": 80.8},
    (500, "adjacent_repetition"): {"memarbiter": 4.15, "flat_retrieval": 15.72, "flat_recency": 29.91},
    (500, "state_action_recurrence"): {"memarbiter": 12.99, "flat_retrieval": 26.99, "flat_recency": 38.49},
    (750, "one_step_recovery"): {"memarbiter": 65.3, "flat_retrieval": 30.5, "flat_recency": 16.3},
    (750, "failed_action_repetition"): {"memarbiter": 20.7, "flat_retrieval": 52.1, "flat_recency": 82.8},
    (750, "adjacent_repetition"): {"memarbiter": 2.33, "flat_retrieval": 15.40, "flat_recency": 29.96},
    (750, "state_action_recurrence"): {"memarbiter": 4.33, "flat_retrieval": 24.85, "flat_recency": 38.64},
}
"""Table 5a, section 4.4: (budget, metric) -> method -> percent; model: ``QWEN``."""

TABLE5B = {
    ("memarbiter", 500): (29.4, 32.7),
    ("memarbiter", 750): (31.4, 33.3),
    ("wo_gate", 500): (19.9, 20.1),
}
"""Table 5b, section 4.4: (method, budget) -> Episodic share at the failed and at the next prompt, percent."""


@dataclass(frozen=True, slots=True)
class Point:
    """A published point of an SR@k curve."""

    method: str
    k: int
    percent: float
    model: str


def curve_points(model: str, budget: int | None) -> list[Point]:
    """The published points to mark beside a measured curve of ``model`` at ``budget``, by method and k.

    For the model of Table 3 these are its own; for any other model those of the paper's main one.
    """
    if model == GPT_MODEL:
        rows = TABLE3 if budget == ABLATION_BUDGET else {}
        early = [Point(method, EARLY_STEPS, values[0], GPT) for method, values in rows.items()]
        return [*early, *(Point(method, STEP_LIMIT, values[1], GPT) for method, values in rows.items())]
    ends = [
        Point(method, STEP_LIMIT, row.overall, QWEN) for (tokens, method), row in TABLE2.items() if tokens == budget
    ]
    if budget != ABLATION_BUDGET:
        return ends
    early = [Point(method, EARLY_STEPS, values[0], QWEN) for method, values in TABLE4.items()]
    return [*early, *ends, *(Point(m, STEP_LIMIT, v[1], QWEN) for m, v in TABLE4.items() if m != "memarbiter")]
