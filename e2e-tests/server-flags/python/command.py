"""Runs `lmcache server` and `lmcache coordinator` of one unpacked release up to the point where they would serve.

What runs is the release's own entry point, `lmcache.cli.main.main`: its argument parser, the functions that make
configurations of the parsed arguments, and what the commands check before they start the HTTP server (for the
coordinator also the making of its application). Only the commands that are not asked about are left out.
"""

import argparse
import configparser
import contextlib
import importlib
import io
import logging
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine
import standins

ACCEPTED = "accepted"
"""All checks passed, the command was about to serve."""
USAGE = "usage"
"""Refused by the argument parser: exit 2."""
CONFIG = "config"
"""Refused by a check of the release: it raised an exception, which the command line reports with exit 1."""
HELP = "help"
"""The command printed its help and exited with 0."""
ABSENT = "absent"
"""The release installs no such program."""
HARNESS = "harness"
"""Something here failed, not the release. Such an outcome says nothing about the command line."""


@dataclass
class Outcome:
    """How a command line ended; `message` is the last line that argparse printed, or the exception."""

    kind: str
    message: str = ""
    parsed: dict[str, Any] = field(default_factory=dict)
    """What the parser made of the arguments; empty where it refused them."""


class _Failures(logging.Handler):
    """Keeps the exception that `lmcache.cli.main` logs before it exits with 1."""

    def __init__(self) -> None:
        super().__init__()
        self.caught: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.caught = record.exc_info[1]


class Release:
    """One unpacked release. At most one a process: its modules stay loaded."""

    def __init__(self, folder: Path) -> None:
        self._main = self._load(folder)
        self._failures = _Failures()
        logging.getLogger("lmcache.cli.main").addHandler(self._failures)
        self._parsed: dict[str, Any] = {}
        argparse.ArgumentParser.parse_args = self._remembering(argparse.ArgumentParser.parse_args)  # type: ignore

    @staticmethod
    def _load(folder: Path) -> Callable[[], None] | None:
        entry_points = configparser.ConfigParser()
        entry_points.optionxform = str  # type: ignore[assignment,method-assign]
        entry_points.read(next(folder.glob("*.dist-info")) / "entry_points.txt")
        program = entry_points.get("console_scripts", "lmcache", fallback=None)
        if program is None:
            return None
        standins.install(folder.joinpath("compiled-modules").read_text().split(), machine.KNOWN)
        sys.path.insert(0, str(folder))
        # lmcache skips an adapter module that cannot be imported. Here all are imported, so that a package which this
        # harness lacks is an error and not an "unknown adapter type".
        adapters = importlib.import_module("lmcache.v1.distributed.l2_adapters")
        for module in pkgutil.iter_modules(adapters.__path__, f"{adapters.__name__}."):
            importlib.import_module(module.name)
        machine.mount_folders()
        module_name, _, function = program.partition(":")
        found: Callable[[], None] = getattr(importlib.import_module(module_name), function)
        _leave_out_other_commands()
        return found

    def _remembering(self, parse_args: Callable[..., argparse.Namespace]) -> Callable[..., argparse.Namespace]:
        """`parse_args` as it is, whose result can be looked at afterwards."""

        def remembering(*args: Any, **kwargs: Any) -> argparse.Namespace:
            namespace = parse_args(*args, **kwargs)
            self._parsed = vars(namespace)
            return namespace

        return remembering

    def run(self, command: str, args: list[str], env: dict[str, str]) -> Outcome:
        """The outcome of `lmcache <command> <args>` in the environment `env`."""
        if self._main is None:
            return Outcome(ABSENT, "the release installs no program named lmcache")
        self._failures.caught = None
        self._parsed = {}
        standins.leaks.clear()
        outcome = self._outcome(self._main, command, args, env)
        if standins.leaks:
            outcome = Outcome(HARNESS, str(standins.leaks[0]))
        outcome.parsed = self._parsed
        return outcome

    def _outcome(self, main: Callable[[], None], command: str, args: list[str], env: dict[str, str]) -> Outcome:
        printed = io.StringIO()
        sys.argv = ["lmcache", command, *args]
        with _environment(env), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                main()
            except machine.Serving:
                return Outcome(ACCEPTED)
            except SystemExit as end:
                return self._ended(end.code, printed.getvalue())
            except BaseException as unexpected:
                return Outcome(HARNESS, _one_line(unexpected))
        return Outcome(HARNESS, "the command returned without serving")

    def _ended(self, code: object, printed: str) -> Outcome:
        failure = self._failures.caught
        if code == 2:
            return Outcome(USAGE, printed.rstrip().rpartition("\n")[2])
        if code == 0:
            return Outcome(HELP)
        if code == 1 and failure is not None:
            return Outcome(HARNESS if _is_ours(failure, sys.argv) else CONFIG, _one_line(failure))
        return Outcome(HARNESS, f"exit {code}: {printed.rstrip()[-300:]}")


def _leave_out_other_commands() -> None:
    """Up to 0.5.5 every run first defines the flags of all commands, which takes most of its time; 0.5.6 does so only
    for the one that runs."""
    commands = vars(sys.modules.get("lmcache.cli.commands", object)).get("ALL_COMMANDS")
    if commands:
        commands[:] = [command for command in commands if command.name() in ("server", "coordinator")]


def _is_ours(failure: BaseException, argv: list[str]) -> bool:
    """Whether the exception comes from a stand-in or a missing package rather than from a check of the release."""
    if isinstance(failure, ImportError):
        # Some flags name modules; that such a module is missing is the release's own answer.
        return failure.name is None or not any(failure.name in word for word in argv)
    frames = traceback.extract_tb(failure.__traceback__)
    return Path(frames[-1].filename).parent == Path(__file__).parent or "standins" in str(failure)


def _one_line(failure: BaseException) -> str:
    return f"{type(failure).__name__}: {' '.join(str(failure).split())}"


@contextlib.contextmanager
def _environment(env: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
