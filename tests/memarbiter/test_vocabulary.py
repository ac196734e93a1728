"""The vocabulary is installed once, from any source, and only if its checksum is right."""

import hashlib
import struct
from pathlib import Path

import pytest

from memarbiter import vocabulary
from memarbiter.vocabulary import Source, VocabularyMissing


@pytest.fixture(scope="session")
def good() -> bytes:
    return vocabulary.read()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: bytes) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


def _failing() -> bytes:
    raise OSError("unplugged")


def _forbidden() -> bytes:
    raise AssertionError("must not be asked")


def test_file_name_is_the_one_tiktoken_looks_for() -> None:
    assert hashlib.sha1(vocabulary.URL.encode()).hexdigest() == vocabulary.FILE_NAME


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert vocabulary.cache_dir() == tmp_path / ".cache" / "memarbiter"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert vocabulary.cache_dir() == tmp_path / "xdg" / "memarbiter"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "own"))
    assert vocabulary.cache_dir() == tmp_path / "own"


def test_first_good_source_is_taken(cache: Path, good: bytes) -> None:
    heard: list[str] = []
    sources = (
        Source("a dead link", _failing),
        Source("a wrong file", lambda: good[:-1]),
        Source("a good file", lambda: good),
        Source("another", _forbidden),
    )
    file = vocabulary.install(sources, heard.append)
    assert file == cache / vocabulary.FILE_NAME
    assert vocabulary.read() == good
    assert [line.split(":")[1].strip() for line in heard] == [
        "not from a dead link",
        "not from a wrong file",
        "taken from a good file",
    ]
    assert list(cache.iterdir()) == [file]


def test_installed_file_is_kept(cache: Path, good: bytes) -> None:
    vocabulary.install((Source("a good file", lambda: good),), lambda _: None)
    vocabulary.install((Source("another", _forbidden),), lambda _: None)


def test_damaged_file_is_replaced(cache: Path, good: bytes) -> None:
    cache.mkdir()
    (cache / vocabulary.FILE_NAME).write_bytes(b"torn")
    vocabulary.install((Source("a good file", lambda: good),), lambda _: None)
    assert vocabulary.read() == good


def test_T2_file_under_its_readable_name_is_installed(cache: Path, good: bytes) -> None:
    cache.mkdir()
    (cache / vocabulary.READABLE_NAME).write_bytes(good)
    vocabulary.install(vocabulary.SOURCES[:1], lambda _: None)
    assert vocabulary.read() == good


def test_T2_failure_lists_what_was_tried_and_what_to_place_where(cache: Path) -> None:
    sources = (Source("a dead link", _failing), Source("a wrong file", lambda: b"x"))
    with pytest.raises(VocabularyMissing) as failure:
        vocabulary.install(sources, lambda _: None)
    for part in ("a dead link: unplugged", "a wrong file: its file has", str(cache), vocabulary.FILE_NAME):
        assert part in str(failure.value)
    assert not cache.exists()


def test_command_reports_success_and_failure(cache: Path, good: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    cache.mkdir()
    (cache / vocabulary.READABLE_NAME).write_bytes(good)
    assert vocabulary.main([]) == 0
    assert f"checked, at {cache / vocabulary.FILE_NAME}" in capsys.readouterr().out
    (cache / vocabulary.FILE_NAME).unlink()
    (cache / vocabulary.FILE_NAME).mkdir()
    assert vocabulary.main([]) == 1
    assert "Is a directory" in capsys.readouterr().err
    assert len(list(cache.iterdir())) == 2  # no temporary file is left behind


def test_ranked_tokens_are_rebuilt_as_tiktoken_writes_them() -> None:
    packed = struct.pack("<I", 2) + struct.pack("<H1sI", 1, b"!", 0)[:3] + struct.pack("<I", 0)
    packed += struct.pack("<H", 2) + b"ab" + struct.pack("<I", 1)
    assert vocabulary._from_ranked_tokens(packed) == b"IQ== 0\nYWI= 1\n"


@pytest.mark.parametrize("source", vocabulary.SOURCES[1:2], ids=lambda source: source.name)
def test_the_smallest_package_gives_the_file(source: Source, cache: Path, good: bytes) -> None:
    try:
        data = source.fetch()
    except OSError as error:
        pytest.skip(f"no package index within reach: {error}")
    assert data == good
