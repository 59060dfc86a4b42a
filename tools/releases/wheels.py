"""Reads single files out of the wheels that a project has published on PyPI.

Nothing is installed and no wheel is fetched whole: a wheel is a zip archive, so its directory and the few source
files that somebody asks for are read with HTTP range requests. What was read stays in a local cache, and a wheel on
PyPI never changes, so a second run needs the network for the list of releases only.

    for wheel in final_releases("lmcache", since=(0, 4, 1)):
        sources = wheel.sources()
        sources.names()                             # every file of the wheel, as in the archive
        sources.text("lmcache/__init__.py")         # its text, None where the wheel has no such file

`final_releases` gives one wheel for each release, oldest first: no pre-releases (`rc`, `dev`, ...), nothing yanked, and
the newest post release where there are some (`0.3.9.post2` stands for 0.3.9). `wheel.release` is the tuple of numbers,
`wheel.version` the text as published. What cannot be read raises `ReadError`, which `python3 tools/releases` prints.

The modules of this folder are the package `releases` and import each other as such (`from .wheels import ...`). The
module `clients` has the functions `read(today: str, progress: Callable[[str], None]) -> None` (network; writes its data
file) and `write() -> list[Path]` (offline; writes its Rust, gives the paths), which `python3 tools/releases read` and
`write` run along with the tables of the server.
"""

from __future__ import annotations

import io
import json
import os
import re
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIMPLE_API = "https://pypi.org/simple"
AGENT = "lmcache-kubewarden-releases/1 (reads argument parsers of published wheels)"
# Bytes that one range request asks for. The sources of a folder lie side by side in a wheel: one block serves many.
BLOCK = 256 * 1024
ATTEMPTS = 4
TIMEOUT_SECONDS = 60

Release = tuple[int, ...]
# GET of a URL with headers: status, headers (names in lower case), body.
Fetch = Callable[[str, dict[str, str]], tuple[int, dict[str, str], bytes]]

FINAL_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:\.post(\d+))?")
WHEEL_NAME = re.compile(
    r"(?P<project>[^-]+)-(?P<version>[^-]+)(?:-(?P<build>\d+)[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl"
)


class ReadError(Exception):
    """Something that was expected from PyPI or from a wheel is not there. The text says what to do."""


def parse_final(version: str) -> tuple[Release, int] | None:
    """`0.3.9.post2` as `((0, 3, 9), 2)`; a final release without a post number has 0; None for every pre-release."""
    match = FINAL_VERSION.fullmatch(version)
    if match is None:
        return None
    return tuple(int(part) for part in match[1].split(".")), int(match[2] or 0)


def show(release: Release) -> str:
    """`(0, 5, 6)` as `0.5.6`."""
    return ".".join(str(part) for part in release)


def cache_root() -> Path:
    """Where read files are kept; safe to delete."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "lmcache-kubewarden" / "wheel-sources"


@dataclass(frozen=True)
class Wheel:
    """One published wheel of one final release."""

    project: str
    release: Release
    version: str
    filename: str
    url: str

    def sources(self, cache: Path | None = None) -> Sources:
        """The files of this wheel, cached in `cache` (default: `cache_root()`)."""
        folder = (cache or cache_root()) / self.project / self.filename
        return Sources(self.filename, lambda: zipfile.ZipFile(RangeReader(self.url)), folder)


class Sources:
    """Names and texts of the files of one wheel. The archive is opened only when the cache lacks something."""

    def __init__(self, label: str, open_archive: Callable[[], zipfile.ZipFile], cache: Path) -> None:
        self.label = label
        self._open_archive = open_archive
        self._archive: zipfile.ZipFile | None = None
        self._cache = cache
        self._names: list[str] | None = None
        self._known: set[str] = set()

    def _zip(self) -> zipfile.ZipFile:
        if self._archive is None:
            self._archive = self._open_archive()
        return self._archive

    def names(self) -> list[str]:
        """All files of the wheel, sorted."""
        if self._names is None:
            listing = self._cache / "names.json"
            if listing.is_file():
                self._names = json.loads(listing.read_text(encoding="utf-8"))
            else:
                self._names = sorted(name for name in self._zip().namelist() if not name.endswith("/"))
                _write_whole(listing, json.dumps(self._names).encode())
            self._known = set(self._names)
        return self._names

    def has(self, name: str) -> bool:
        """Whether the wheel holds a file of this name."""
        self.names()
        return name in self._known

    def text(self, name: str) -> str | None:
        """The text of one file (UTF-8), None where the wheel has no such file."""
        if not self.has(name):
            return None
        # No name of the archive can leave the cache folder: a name with `..` or a leading `/` is not cached at all.
        safe = not name.startswith("/") and ".." not in name.split("/")
        kept = self._cache / "files" / name
        if safe and kept.is_file():
            return kept.read_bytes().decode("utf-8")
        content = self._zip().read(name)
        if safe:
            _write_whole(kept, content)
        return content.decode("utf-8")


def _write_whole(path: Path, content: bytes) -> None:
    """Writes so that a second process sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_bytes(content)
    draft.replace(path)


class RangeReader(io.RawIOBase):
    """A read-only, seekable file over HTTP range requests; blocks that were read stay in memory."""

    def __init__(self, url: str, fetch: Fetch | None = None) -> None:
        super().__init__()
        self._url = url
        self._fetch = fetch or _get
        self._position = 0
        self._blocks: dict[int, bytes] = {}
        self._size = self._measure()

    def _measure(self) -> int:
        status, headers, body = self._fetch(self._url, {"Range": "bytes=0-0"})
        if status == 200:
            # This server knows no ranges and has sent the whole file: keep it.
            self._blocks = {start // BLOCK: body[start : start + BLOCK] for start in range(0, len(body), BLOCK)}
            return len(body)
        total = re.fullmatch(r"bytes 0-0/(\d+)", headers.get("content-range", ""))
        if status != 206 or total is None:
            raise ReadError(f"{self._url}: answered {status} without a usable Content-Range to a range request")
        return int(total[1])

    def _block(self, index: int) -> bytes:
        if index not in self._blocks:
            first = index * BLOCK
            last = min(first + BLOCK, self._size) - 1
            status, _, body = self._fetch(self._url, {"Range": f"bytes={first}-{last}"})
            if status != 206 or len(body) != last - first + 1:
                raise ReadError(f"{self._url}: asked for bytes {first} to {last}, got {len(body)} with status {status}")
            self._blocks[index] = body
        return self._blocks[index]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        # Fills the whole buffer: zipfile takes a short read for the end of the file.
        done = 0
        while done < len(buffer) and self._position < self._size:
            start = self._position % BLOCK
            piece = self._block(self._position // BLOCK)[start : start + len(buffer) - done]
            buffer[done : done + len(piece)] = piece
            done += len(piece)
            self._position += len(piece)
        return done


def _get(url: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """One GET, tried again when the network or the server fails; header names come back in lower case."""
    request = urllib.request.Request(url, headers={"User-Agent": AGENT, **headers})
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
        except urllib.error.HTTPError as error:
            if attempt == ATTEMPTS or (error.code < 500 and error.code != 429):
                raise ReadError(f"{url}: answered {error.code} {error.reason}") from error
        except (OSError, TimeoutError) as error:
            if attempt == ATTEMPTS:
                raise ReadError(f"{url}: cannot be read ({error}); check the network and run it again") from error
        time.sleep(attempt)
    raise AssertionError("the last attempt returns or raises")


def _preference(filename: str) -> tuple[int, int, str] | None:
    """Which wheel of a release is read (smallest first): the Python sources are the same in all of them, but for
    builds that were uploaded again, of which the newest counts. None: not a wheel."""
    match = WHEEL_NAME.fullmatch(filename)
    if match is None:
        return None
    if match["platform"] == "any":
        rank = 0
    elif "x86_64" in match["platform"]:
        rank = 1 if match["abi"] == "abi3" else 2 if match["python"] == "cp311" else 3
    else:
        rank = 4
    return -int(match["build"] or 0), rank, filename


def choose(project: str, files: list[dict[str, Any]], since: Release = ()) -> list[Wheel]:
    """One wheel for each final release from `since` on, of the `files` that the simple API lists; oldest first."""
    best: dict[Release, tuple[tuple[int, tuple[int, int, str]], Wheel]] = {}
    for file in files:
        filename = file["filename"]
        preference = _preference(filename)
        # `yanked` is False, True or the reason as a text.
        if preference is None or file.get("yanked"):
            continue
        version = WHEEL_NAME.fullmatch(filename)["version"]  # type: ignore[index]  # it matched above
        final = parse_final(version)
        if final is None or final[0] < since:
            continue
        release, post = final
        order = (-post, preference)
        if release not in best or order < best[release][0]:
            best[release] = (order, Wheel(project, release, version, filename, file["url"]))
    return [best[release][1] for release in sorted(best)]


def final_releases(project: str, since: Release = ()) -> list[Wheel]:
    """One wheel for each final release of `project` on PyPI, from release `since` on, oldest first.

    A release that has no wheel, or only yanked ones, is left out.
    """
    _, _, body = _get(f"{SIMPLE_API}/{project}/", {"Accept": "application/vnd.pypi.simple.v1+json"})
    wheels = choose(project, json.loads(body)["files"], since)
    if not wheels:
        raise ReadError(
            f"PyPI lists no final release of {project} from {show(since) or 'the first'} on that has a wheel"
        )
    return wheels
