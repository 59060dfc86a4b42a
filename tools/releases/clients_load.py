"""Does a module of one wheel load beside the modules of another? Follows import statements, runs nothing.

`Loader` walks the statements that Python would run while it imports a module, as syntax trees and in Python's order:
packages before their modules, `TYPE_CHECKING` blocks skipped, the handlers of a `try` where an import in it fails. An
import fails where its module is not in the wheel, or where that module neither defines nor re-exports the name.

What it does not see: attributes (`module.name`), calls, and modules that belong to neither wheel, which count as there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Protocol

# Of one file that is no Python source, a compiled module: whatever is asked of it counts as there.
COMPILED = (".so", ".pyd")


class Texts(Protocol):
    """Names and texts of a wheel's files, as `wheels.Sources` gives them."""

    def names(self) -> list[str]: ...

    def text(self, name: str) -> str | None: ...


class ImportFails(Exception):
    """An import that Python would refuse; the text says what is missing (`needs NAME from MODULE`)."""

    def __init__(self, text: str, module_missing: bool) -> None:
        super().__init__(text)
        self.module_missing = module_missing


class Undecided(Exception):
    """An import that fails under a condition which cannot be read. Somebody has to look and write down what is so."""


class Package:
    """The modules of one wheel below one top-level name."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._trees: dict[str, list[ast.stmt] | None] = {}
        self._exports: dict[str, Names] = {}
        self._sources: dict[str, str] = {}
        self._others: set[str] = set()
        for name in texts.names():
            parts = name.split("/")
            if name.endswith(".py"):
                module = parts[:-1] if parts[-1] == "__init__.py" else [*parts[:-1], parts[-1][: -len(".py")]]
                self._sources[".".join(module)] = name
            elif name.endswith(COMPILED):
                self._others.add(".".join([*parts[:-1], parts[-1].split(".")[0]]))
            # A folder without `__init__.py` is a package too.
            self._others.update(".".join(parts[:depth]) for depth in range(1, len(parts)))

    def has(self, module: str) -> bool:
        """Whether there is such a module or package."""
        return module in self._sources or module in self._others

    def below(self, package: str) -> list[str]:
        """A package and the modules with source in it, sorted."""
        return sorted(module for module in self._sources if module == package or module.startswith(package + "."))

    def is_package(self, module: str) -> bool:
        """Whether relative imports of this module start at itself."""
        source = self._sources.get(module)
        return source.endswith("/__init__.py") if source else True

    def statements(self, module: str) -> list[ast.stmt] | None:
        """The statements of a module; None where it has no source."""
        if module not in self._trees:
            source = self._sources.get(module)
            text = self._texts.text(source) if source else None
            self._trees[module] = None if text is None else ast.parse(text, filename=source or "").body
        return self._trees[module]

    def definition(self, module: str, name: str) -> tuple[str, ast.stmt | None]:
        """The statement at the top of a module that binds a name, imports followed, and the module in which it stands. None
        where it is somebody else's, or bound in a branch."""
        for statement in self.statements(module) or []:
            match statement:
                case ast.ImportFrom():
                    for alias in statement.names:
                        if (alias.asname or alias.name) == name:
                            source = absolute(statement, module, self)
                            return self.definition(source, alias.name) if self.has(source) else (source, None)
                case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                    return module, statement
                case ast.ClassDef() | ast.FunctionDef() if statement.name == name:
                    return module, statement
        return module, None

    def exports(self, module: str) -> Names:
        """What can be imported from a module that loads: every name that any of its branches binds."""
        if module not in self._exports:
            names = self._exports[module] = Names()
            statements = self.statements(module)
            if statements is None:
                names.everything = module in self._others and not self._is_folder(module)
            else:
                _collect(statements, names, self, module)
        return self._exports[module]

    def _is_folder(self, module: str) -> bool:
        prefix = module.replace(".", "/") + "/"
        return any(name.startswith(prefix) for name in self._texts.names())


class Names(set[str]):
    """The names that a module has; `everything` where it may have any (compiled, or with its own `__getattr__`)."""

    everything = False

    def has(self, name: str) -> bool:
        return self.everything or name in self

    def bind(self, name: str) -> None:
        self.add(name)
        self.everything = self.everything or name == "__getattr__"

    def take(self, other: Names) -> None:
        """`from other import *`"""
        self.update(name for name in other if not name.startswith("_"))
        self.everything = self.everything or other.everything


class Loader:
    """Imports modules of some packages, as Python would.

    `packages`: the known ones by top-level name. `followed`: of which modules the own imports are looked at as well; any
    other known module loads by itself, so only its names count.
    """

    def __init__(self, packages: dict[str, Package], followed: Callable[[str], bool]) -> None:
        self._packages = packages
        self._followed = followed
        self._loaded: dict[str, Names] = {}
        self._failed: dict[str, ImportFails] = {}

    def load(self, module: str) -> Names | None:
        """Imports a module and the packages above it; its names so far where that is under way already. None: a module of
        somebody else.

        Raises `ImportFails`, and `Undecided` where a failure depends on what cannot be read.
        """
        package = self._packages.get(module.split(".")[0])
        if package is None:
            return None
        if module in self._loaded:
            return self._loaded[module]
        if module in self._failed:
            raise self._failed[module]
        parent = module.rpartition(".")[0]
        if parent:
            self.load(parent)
        if not package.has(module):
            raise ImportFails(f"needs module {module}", module_missing=True)
        if not self._followed(module):
            self._loaded[module] = package.exports(module)
            return self._loaded[module]
        statements = package.statements(module)
        names = self._loaded[module] = Names()
        if statements is None:
            names.everything = package.exports(module).everything
            return names
        names.update({"__name__", "__doc__", "__file__", "__path__"})
        try:
            self._run(statements, names, module)
        except ImportFails as failure:
            del self._loaded[module]
            self._failed[module] = failure
            raise
        return names

    def name(self, module: str, name: str) -> None:
        """`from module import name`; raises as `load` does."""
        names = self.load(module)
        if names is None or names.has(name):
            return
        try:
            self.load(f"{module}.{name}")
        except ImportFails as failure:
            if str(failure) == f"needs module {module}.{name}":
                raise ImportFails(f"needs {name} from {module}", module_missing=False) from None
            raise

    def _run(self, statements: Iterable[ast.stmt], names: Names, module: str) -> None:
        for statement in statements:
            match statement:
                case ast.Import():
                    for alias in statement.names:
                        self.load(alias.name)
                        names.bind(alias.asname or alias.name.split(".")[0])
                case ast.ImportFrom():
                    self._import_from(statement, names, module)
                case ast.Try() | ast.TryStar():
                    self._try(statement, names, module)
                case ast.If():
                    self._if(statement, names, module)
                case ast.Raise() if statement.exc is None:
                    raise _Reraise
                case ast.Raise():
                    raise ImportFails(f"{module} raises {ast.unparse(statement)[6:]}", module_missing=False)
                case ast.ClassDef():
                    self._run(statement.body, Names(), module)
                    names.bind(statement.name)
                case ast.With() | ast.AsyncWith() | ast.For() | ast.AsyncFor() | ast.While():
                    _bind_targets(statement, names)
                    self._run([*statement.body, *getattr(statement, "orelse", [])], names, module)
                case _:
                    _bind_targets(statement, names)

    def _import_from(self, statement: ast.ImportFrom, names: Names, module: str) -> None:
        source = absolute(statement, module, self._packages[module.split(".")[0]])
        found = self.load(source)
        for alias in statement.names:
            if alias.name == "*":
                if found is not None:
                    names.take(found)
                continue
            self.name(source, alias.name)
            names.bind(alias.asname or alias.name)

    def _try(self, statement: ast.Try | ast.TryStar, names: Names, module: str) -> None:
        try:
            self._run(statement.body, names, module)
        except ImportFails as failure:
            handler = next((handler for handler in statement.handlers if _catches(handler, failure)), None)
            if handler is None:
                raise
            try:
                self._run(handler.body, names, module)
            except _Reraise:
                raise failure from None
        else:
            self._run(statement.orelse, names, module)
        self._run(statement.finalbody, names, module)

    def _if(self, statement: ast.If, names: Names, module: str) -> None:
        known = _condition(statement.test)
        if known is not None:
            self._run(statement.body if known else statement.orelse, names, module)
            return
        for branch in (statement.body, statement.orelse):
            try:
                self._run(branch, names, module)
            except ImportFails as failure:
                raise Undecided(
                    f"{module}, line {statement.lineno}: {failure} if {ast.unparse(statement.test)}"
                ) from None
            except _Reraise:
                raise Undecided(f"{module}, line {statement.lineno}: raises if {ast.unparse(statement.test)}") from None


class _Reraise(Exception):
    """A bare `raise` in a handler."""


def absolute(statement: ast.ImportFrom, module: str, package: Package) -> str:
    """The module that `from ... import` names, relative ones resolved from `module`."""
    if not statement.level:
        return statement.module or ""
    up = statement.level - (1 if package.is_package(module) else 0)
    base = module.split(".")
    base = base[: len(base) - up]
    return ".".join([*base, *([statement.module] if statement.module else [])])


def _catches(handler: ast.ExceptHandler, failure: ImportFails) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = {kind.id for kind in kinds if isinstance(kind, ast.Name)}
    return bool(caught & {"ImportError", "Exception", "BaseException"}) or (
        failure.module_missing and "ModuleNotFoundError" in caught
    )


def _condition(test: ast.expr) -> bool | None:
    """False for `TYPE_CHECKING` (the block is for type checkers alone), True for its contrary, None for any other test."""
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _condition(operand)
            return None if inner is None else not inner
    return None


def _collect(statements: Iterable[ast.stmt], names: Names, package: Package, module: str) -> None:
    """Binds what any branch of a module binds, without a look at whether its own imports succeed."""
    for statement in statements:
        match statement:
            case ast.Import():
                for alias in statement.names:
                    names.bind(alias.asname or alias.name.split(".")[0])
            case ast.ImportFrom():
                for alias in statement.names:
                    if alias.name != "*":
                        names.bind(alias.asname or alias.name)
                        continue
                    source = absolute(statement, module, package)
                    if package.has(source):
                        names.take(package.exports(source))
            case ast.If():
                known = _condition(statement.test)
                taken = [] if known is False else statement.body
                _collect([*taken, *([] if known else statement.orelse)], names, package, module)
            case ast.Try() | ast.TryStar():
                handlers = [inner for handler in statement.handlers for inner in handler.body]
                inner = [*statement.body, *handlers, *statement.orelse, *statement.finalbody]
                _collect(inner, names, package, module)
            case ast.With() | ast.AsyncWith() | ast.For() | ast.AsyncFor() | ast.While():
                _bind_targets(statement, names)
                _collect([*statement.body, *getattr(statement, "orelse", [])], names, package, module)
            case _:
                _bind_targets(statement, names)


def _bind_targets(statement: ast.stmt, names: Names) -> None:
    """The names that one statement binds by itself: assignments, definitions, loop variables."""
    targets: list[ast.expr | None] = []
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            names.bind(statement.name)
        case ast.Assign():
            targets = list(statement.targets)
        case ast.AnnAssign() if statement.value is not None:
            targets = [statement.target]
        case ast.For() | ast.AsyncFor():
            targets = [statement.target]
        case ast.With() | ast.AsyncWith():
            targets = [item.optional_vars for item in statement.items]
    for target in targets:
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.bind(node.id)
