"""State parsing and candidate writing by a language model (paper sections 3 and 3.1).

Needs the extra ``llm``. The model is any :class:`~memarbiter.chat.ChatModel`; its answers are JSON after a schema, and
whatever it answers, nothing raises and no bank is emptied: what cannot be used is told as a problem and skipped.
"""
