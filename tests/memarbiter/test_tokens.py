"""The shared counter: exact, offline, and unimpressed by odd text."""

import subprocess
import sys

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memarbiter import tokens, vocabulary

SPECIAL = ("<|endoftext|>", "<|endofprompt|>")
# Lone surrogates, emoji with joiners, combining marks and control characters are all in here.
ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=120)
WORDS = st.text(alphabet="abcdefghij .,'\n\r/ 019AB\u0301\U0001f468\u200d\ud83d", max_size=120)


@pytest.fixture(scope="module")
def reference() -> tiktoken.Encoding:
    """tiktoken's own construction of the encoding, from the file that is installed."""
    vocabulary.read()  # else tiktoken would delete the file and download another
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(vocabulary.cache_dir()))
        return tiktoken.get_encoding("o200k_base")


@settings(deadline=None)  # the first call loads the vocabulary
@given(text=ANY_TEXT | WORDS)
def test_count_is_that_of_tiktoken(reference: tiktoken.Encoding, text: str) -> None:
    assert tokens.count(text) == len(reference.encode_ordinary(text))


def test_count_of_known_texts() -> None:
    assert tokens.count("") == 0
    assert tokens.count("hello world") == 2
    assert tokens.count("Nothing happens.") == 3


@pytest.mark.parametrize("special", SPECIAL)
def test_T1_special_tokens_are_ordinary_text(reference: tiktoken.Encoding, special: str) -> None:
    assert special in reference.special_tokens_set
    text = f"You see {special} on the desk 1.\n" * 3
    assert tokens.count(special) > 1
    assert tokens.count(text) == len(reference.encode(text, disallowed_special=()))
    assert text.startswith(tokens.truncate(text, 9))
    assert sum(tokens.count(half) for half in (special[:5], special[5:])) > 1


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "^" * 200_000,
        "\U0001f9ea" * 10_000,
        "\ud83d" * 10_000,
        "\ud83d\ude00 and \ude00\ud83d",
        "e" + "\u0301" * 10_000,
    ],
    ids=["letters", "signs", "emoji", "lone surrogates", "surrogate pairs", "combining marks"],
)
def test_T5_hard_texts_are_counted_and_cut(text: str) -> None:
    kept = tokens.truncate(text, 17)
    assert kept
    assert text.startswith(kept)
    assert tokens.count(kept) <= 17 or tokens.count(text) <= 17


@settings(max_examples=200, deadline=None)
@given(text=ANY_TEXT | WORDS, limit=st.integers(0, 30))
@example(text="coffeetable 1", limit=1)  # "co", the first token, is not the longest: "coffee" is one token too
@example(text="\u200d\U0001f468\u200d\U0001f469", limit=2)
def test_truncate_is_the_longest_prefix_that_fits(text: str, limit: int) -> None:
    fitting = [text[:end] for end in range(len(text) + 1) if tokens.count(text[:end]) <= limit]
    assert tokens.truncate(text, limit) == fitting[-1]


def test_truncate_refuses_a_negative_limit() -> None:
    with pytest.raises(ValueError, match="not -1"):
        tokens.truncate("desk 1", -1)


def test_fingerprint_names_the_counter() -> None:
    mark = tokens.fingerprint()
    assert mark["encoding"] == "o200k_base"
    assert mark["vocabulary_sha256"] == vocabulary.SHA256
    assert mark == tokens.fingerprint()
    assert all(isinstance(value, str) and value for value in mark.values())


def _count_in_a_new_process(cache: str) -> subprocess.CompletedProcess[str]:
    # sys.addaudithook sees every connection attempt, so the test notices a download on any machine.
    code = (
        "import sys\n"
        "def no_network(event, _):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'): raise SystemExit('tried the network')\n"
        "sys.addaudithook(no_network)\n"
        "from memarbiter import tokens\n"
        "print(tokens.count('hello world'))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], env={"TIKTOKEN_CACHE_DIR": cache}, capture_output=True, text=True
    )


def test_T2_a_correct_cache_works_without_network(tmp_path) -> None:
    (tmp_path / vocabulary.FILE_NAME).write_bytes(vocabulary.read())
    assert _count_in_a_new_process(str(tmp_path)).stdout == "2\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (None, b"", "There is no o200k_base vocabulary"),
        (vocabulary.READABLE_NAME, b"IQ== 0\n", "is not used under that name"),
        (vocabulary.FILE_NAME, b"IQ== 0\n", "is damaged"),
    ],
    ids=["empty", "readable name", "damaged"],
)
def test_T2_a_bad_cache_is_a_clear_error(tmp_path, name: str | None, content: bytes, said: str) -> None:
    if name:
        (tmp_path / name).write_bytes(content)
    result = _count_in_a_new_process(str(tmp_path))
    assert result.returncode == 1
    assert "VocabularyMissing" in result.stderr
    assert said in result.stderr
    assert "python -m memarbiter.vocabulary" in result.stderr
    assert str(tmp_path) in result.stderr
    assert vocabulary.FILE_NAME in result.stderr
    if name:
        assert (tmp_path / name).read_bytes() == content  # never deleted behind the user's back
