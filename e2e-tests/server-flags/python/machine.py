"""What lmcache finds on the machine that the stand-ins play: a node with an NVIDIA GPU and CUDA, without other devices.

The checks depend on it: without a GPU several releases switch lazy L1 off by themselves, which hides refusals.
Every folder is there: an adapter looks for the one that its configuration names, which is mounted on such a node.
Also here: the two calls with which the commands begin to serve, where a line has passed all checks.
"""

import logging
import sys
from pathlib import Path
from typing import Any, NoReturn


class Serving(BaseException):
    """All checks are behind us: the command is about to open its HTTP port."""


def _serve(*_: object, **__: object) -> NoReturn:
    raise Serving


class _Numbers:
    """An enumeration of a compiled module: each member is a number of its own. Only used as keys of look-up tables."""

    __members__: dict[str, int] = {}

    def __getattr__(self, name: str) -> int:
        if name.startswith("__"):
            raise AttributeError(name)
        number = len(vars(self))
        setattr(self, name, number)
        return number


class _Resource:
    """OpenTelemetry's description of the process: the coordinator logs the names of its attributes."""

    def __init__(self, attributes: dict[str, object]) -> None:
        self.attributes = attributes

    @classmethod
    def create(cls, attributes: dict[str, object] | None = None) -> "_Resource":
        return cls(dict(attributes or {}))


def _log_handler(**_: object) -> logging.Handler:
    return logging.NullHandler()


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


class _Mounted(type(Path())):  # type: ignore[misc]
    """A path to a folder that is there."""

    def exists(self, **_: object) -> bool:
        return True

    def is_dir(self, **_: object) -> bool:
        return True


def mount_folders() -> None:
    """Lets the adapters that look for a folder find it."""
    adapter = sys.modules.get("lmcache.v1.distributed.l2_adapters.hf3fs_l2_adapter")
    if adapter is not None:
        adapter.Path = _Mounted  # type: ignore[attr-defined]


KNOWN: dict[str, Any] = {
    "torch.cuda.is_available": _yes,
    "torch.version.cuda": "13.0",
    "torch.version.hip": None,
    **{f"torch.{other}.is_available": _no for other in ("hpu", "musa", "neuron", "npu", "rbln", "xpu")},
    "lmcache.lmcache_native.EngineKVFormat": _Numbers(),
    "lmcache.lmcache_native.TransferDirection": _Numbers(),
    # Added to every logger of lmcache, and the logging module compares its level with that of each record.
    "opentelemetry.sdk._logs.LoggingHandler": _log_handler,
    "opentelemetry.sdk.resources.Resource": _Resource,
    "uvicorn.run": _serve,
    "uvicorn.Server.run": _serve,
}
