"""Fetches wheels of lmcache from the package index and unpacks what the checks need: Python sources and metadata.

    python3 wheels.py <cache folder> <release>...

Prints one line for each release, `<release> <folder>`. A release that is there already is not asked for again, so a
filled cache needs no network. The dependencies are not fetched: several GB, none of which the checks use.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Any platform's wheel has the same Python sources; this one exists for every release.
_PLATFORM = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "abi3", "--abi", "none"]
_PLATFORM += [word for tag in ("2_28", "2_27", "2_17") for word in ("--platform", f"manylinux_{tag}_x86_64")]


class FetchError(Exception):
    """A wheel could not be had; the message is one line for the user."""


def folder_of(cache: Path, release: str) -> Path:
    """The folder of the unpacked release, which is fetched if it is not in the cache."""
    folder = cache / release
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        # Unpacked aside and renamed: an interrupted run leaves nothing that looks complete.
        with tempfile.TemporaryDirectory(dir=cache, prefix=f".{release}-") as aside:
            unpacked = Path(aside) / "unpacked"
            _unpack(_download(Path(aside), release), unpacked)
            try:
                unpacked.rename(folder)
            except OSError:
                if not folder.is_dir():  # else: another run was faster
                    raise
    return folder


def _download(into: Path, release: str) -> Path:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--retries", "2", "download"]
    pip += ["--no-deps", "--only-binary=:all:", *_PLATFORM]
    done = subprocess.run([*pip, "--dest", str(into), f"lmcache=={release}"], capture_output=True, text=True)
    wheels = list(into.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        reason = (done.stderr.strip() or "no wheel").splitlines()[-1]
        raise FetchError(f"lmcache {release} is not in the cache and cannot be fetched: {reason}")
    return wheels[0]


def _unpack(wheel: Path, into: Path) -> None:
    into.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(into, [name for name in names if name.endswith(".py") or ".dist-info/" in name])
    compiled = sorted(name.partition(".")[0].replace("/", ".") for name in names if name.endswith(".so"))
    into.joinpath("compiled-modules").write_text("".join(f"{name}\n" for name in compiled))


def main(cache: str, *releases: str) -> int:
    try:
        for release in releases:
            print(release, folder_of(Path(cache), release), flush=True)
    except (FetchError, OSError, zipfile.BadZipFile) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
