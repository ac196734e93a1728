"""A time limit for calls that have none of their own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class DeadlineExceeded(Exception):
    """A call took longer than it may."""


@contextmanager
def deadline(seconds: float, what: str) -> Iterator[None]:
    """Raise :class:`DeadlineExceeded` in the block once ``seconds`` have passed.

    Works in a process's main thread only (it uses the interval timer), and interrupts Python code: a call
    into a C library is left when it returns.
    """

    def expire(signum: int, frame: FrameType | None) -> None:
        raise DeadlineExceeded(f"{what} took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
