"""One decision step of MemArbiter: parse -> write -> signals -> gate -> assemble (paper section 3, Figure 2)."""

from __future__ import annotations

from dataclasses import replace

from memarbiter.assembly import Assembler, Shown, last_failure
from memarbiter.banks import Store
from memarbiter.context import DecisionContext, Evidence, topics_of
from memarbiter.formation import Formation
from memarbiter.gate import PresentationGate
from memarbiter.protocol import MemoryPrompt, Move, Task, Transition, Write
from memarbiter.signals import SignalEstimator


class MemArbiter:
    """A :class:`~memarbiter.protocol.WorkingMemory` put together from its parts.

    An ablation is the same class with another part: a single pool for ``banks``, a constant demand for
    ``signals``, a gate without history for ``gate``.
    """

    _pending: list[Evidence]
    _writes: list[Write]
    _context: DecisionContext | None
    _shown: Shown | None

    def __init__(
        self,
        formation: Formation,
        banks: Store,
        signals: SignalEstimator,
        gate: PresentationGate,
        assembler: Assembler,
    ) -> None:
        self._formation = formation
        self._banks = banks
        self._signals = signals
        self._gate = gate
        self._assembler = assembler
        self._forget()

    def begin(self, task: Task) -> None:
        """Start a new episode with the goal and the first observation."""
        self._forget()
        self._formation.begin(task)
        self._banks.begin(topics_of(task.goal))
        self._gate.begin()
        self._pending = [Evidence(step=0, action=None, observation=task.observation)]

    async def record(self, step: Transition) -> None:
        """Take in one executed step.

        It is parsed and written when the next prompt is asked for, so that after the last step of an episode no model
        is asked about what nobody will read.

        Raises:
            RuntimeError: If no episode has begun.
        """
        if not self._pending and self._context is None:
            raise RuntimeError("the memory has no task yet: call begin() first")
        self._pending.append(Evidence(step.step, step.action, step.observation, step.failed))

    async def present(self, budget: int) -> MemoryPrompt:
        """Arbitrate what is shown, and assemble it.

        Raises:
            ValueError: If ``budget`` is negative.
            RuntimeError: If no episode has begun.
        """
        context = await self._absorb()
        moves: list[Move] = []
        if self._shown is None:
            banks = self._banks.items()
            items = [item for items in banks.values() for item in items]
            signals = self._signals.estimate(context, banks)
            bands, moves = self._gate.assign(items, signals)
            self._shown = Shown(banks, bands, signals, last_failure(items))
        prompt = self._assembler.assemble(self._shown, budget)
        writes, self._writes = tuple(self._writes), []
        return replace(prompt, writes=writes, transitions=tuple(moves))

    def _forget(self) -> None:
        self._pending = []
        self._writes = []
        self._context = None
        # The gate moves once for each decision step, however often its prompt is asked for.
        self._shown = None

    async def _absorb(self) -> DecisionContext:
        # The first evidence waits until it can be awaited: ``begin`` is synchronous, a writer may call a model.
        while self._pending:
            evidence = self._pending[0]
            known = [item for items in self._banks.items().values() for item in items]
            formed = await self._formation.form(evidence, known)
            self._context = formed.context
            self._writes += [Write("-", "", "skip", problem) for problem in formed.problems]
            self._writes += self._banks.update(formed.candidates, topics_of(evidence.observation))
            self._pending.pop(0)
            self._shown = None
        if self._context is None:
            raise RuntimeError("the memory has no task yet: call begin() first")
        return self._context
