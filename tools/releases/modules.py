"""Reads constants out of a package's sources as syntax trees; nothing of the package is ever run.

`Project.module` parses a module, `Project.find` follows a name through imports to where it is defined, and
`Project.value` works out what an expression is where that can be read: literals, module constants, class attributes,
what has been put into a registry by calls in the tree, and the modules of a folder. What cannot be read raises
`Unreadable`; nothing is guessed.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol


class Sources(Protocol):
    """What is needed of a wheel: its file names and their texts."""

    label: str

    def names(self) -> list[str]: ...

    def has(self, name: str) -> bool: ...

    def text(self, name: str) -> str | None: ...


class Unreadable(Exception):
    """An expression whose value does not follow from the sources alone."""


@dataclass(frozen=True)
class Symbol:
    """A name from outside the package, such as `argparse.SUPPRESS` or `int`."""

    name: str


@dataclass
class Module:
    """One parsed module and what its own lines define."""

    name: str
    path: str
    tree: ast.Module
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        package = self.name if self.path.endswith("/__init__.py") else self.name.rpartition(".")[0]
        for node in ast.walk(self.tree):
            # Imports inside of functions count for the whole module: LMCache imports late to break cycles.
            if isinstance(node, ast.ImportFrom):
                base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                origin = ".".join([*base, *([node.module] if node.module else [])])
                for alias in node.names:
                    self.imports.setdefault(alias.asname or alias.name, (origin, alias.name))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    self.imports.setdefault(alias.asname or top, (alias.name if alias.asname else top, None))
        for statement in self.tree.body:
            if isinstance(statement, ast.FunctionDef):
                self.functions[statement.name] = statement
            elif isinstance(statement, ast.ClassDef):
                self.classes[statement.name] = statement
            elif isinstance(statement, ast.Assign):
                self.values.update({to.id: statement.value for to in statement.targets if isinstance(to, ast.Name)})
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
                self.values[statement.target.id] = statement.value


@dataclass(frozen=True)
class Defined:
    """Where a name is defined: a function, a class or the expression that a module gives it."""

    module: Module
    node: ast.FunctionDef | ast.ClassDef | ast.expr


Locals = dict[str, Any]


class Project:
    """The modules of one release."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """The module of this dotted name, None where the package has no such source file."""
        if name not in self._modules:
            self._modules[name] = None
            base = name.replace(".", "/")
            for path in (f"{base}/__init__.py", f"{base}.py"):
                text = self.sources.text(path)
                if text is not None:
                    self._modules[name] = Module(name, path, ast.parse(text, path))
                    break
        return self._modules[name]

    def within(self, package: str) -> Iterator[Module]:
        """Every module below a package, and the package itself, in the order of their paths."""
        folder = package.replace(".", "/") + "/"
        for path in self.sources.names():
            if path.startswith(folder) and path.endswith(".py"):
                found = self.module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
                if found is not None:
                    yield found

    def find(self, module: Module, name: str) -> Defined | None:
        """Follows `name` through imports to its definition; None for names from outside the package."""
        seen: set[tuple[str, str]] = set()
        while (module.name, name) not in seen:
            seen.add((module.name, name))
            for group in (module.functions, module.classes, module.values):
                if name in group:
                    return Defined(module, group[name])
            origin, attribute = module.imports.get(name, ("", None))
            target = self.module(origin) if origin else None
            if target is None or attribute is None:
                return None
            module, name = target, attribute
        return None

    def value(self, module: Module, node: ast.expr, local: Locals | None = None) -> Any:
        """What an expression is worth: a Python constant, a list, or a `Symbol`."""
        return Evaluator(self, module, local or {}).value(node)


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


class Evaluator:
    """Values of expressions of one module, with the names that a function or a comprehension has bound."""

    def __init__(self, project: Project, module: Module, local: Locals) -> None:
        self.project = project
        self.module = module
        self.local = local

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return self._items(items)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.value(operand)
            case ast.BoolOp(op=op, values=parts):
                worth = [self.value(part) for part in parts]
                return all(worth) if isinstance(op, ast.And) else any(worth)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self.value(left), self.value(right))
            case ast.GeneratorExp() | ast.ListComp():
                return self._comprehension(node)
            case ast.Call():
                return self._call(node)
        raise Unreadable(self._where(node))

    def _where(self, node: ast.AST) -> str:
        return f"{self.module.path}:{getattr(node, 'lineno', '?')}: {ast.unparse(node)}"

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(self.value(node.value))
            else:
                items.append(self.value(node))
        return items

    def _name(self, name: str) -> Any:
        if name in self.local:
            return self.local[name]
        found = self.project.find(self.module, name)
        if found is not None and isinstance(found.node, ast.expr):
            # A dict that starts empty is a registry: what counts is what the tree puts into it.
            if isinstance(found.node, ast.Dict) and not found.node.keys:
                return registered(self.project, found.module, name)
            return self.project.value(found.module, found.node)
        if found is None and name not in self.module.imports and hasattr(builtins, name):
            return Symbol(name)
        if found is None and name in self.module.imports:
            origin, attribute = self.module.imports[name]
            return Symbol(f"{origin}.{attribute}" if attribute else origin)
        raise Unreadable(f"{self.module.path}: {name}")

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id not in self.local:
            found = self.project.find(self.module, owner.id)
            # `Config.field`, or `DEFAULT.field` where `DEFAULT = Config()`: the default in the body of the class.
            if found is not None and isinstance(found.node, ast.Call) and isinstance(found.node.func, ast.Name):
                for keyword in found.node.keywords:
                    if keyword.arg == node.attr:
                        return self.project.value(found.module, keyword.value)
                found = self.project.find(found.module, found.node.func.id)
            if found is not None and isinstance(found.node, ast.ClassDef):
                return self._class_value(found, node)
        base = self.value(owner)
        if isinstance(base, Symbol):
            return Symbol(f"{base.name}.{node.attr}")
        if isinstance(base, dict) and node.attr in base:
            return base[node.attr]
        raise Unreadable(self._where(node))

    def _class_value(self, found: Defined, node: ast.Attribute) -> Any:
        assert isinstance(found.node, ast.ClassDef)
        for statement in found.node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name == node.attr:
                    return self.project.value(found.module, value)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == node.attr:
                    return self.project.value(found.module, value)
        raise Unreadable(self._where(node))

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp) -> list[Any]:
        match node.generators:
            case [ast.comprehension(target=ast.Name(id=name), iter=items, ifs=conditions)]:
                kept = []
                for item in self.value(items):
                    inner = Evaluator(self.project, self.module, {**self.local, name: item})
                    if all(inner.value(condition) for condition in conditions):
                        kept.append(inner.value(node.elt))
                return kept
        raise Unreadable(self._where(node))

    def _call(self, node: ast.Call) -> Any:
        match node.func, node.args:
            case ast.Attribute(value=owner, attr="startswith"), [prefix]:
                return str(self.value(owner)).startswith(self.value(prefix))
            case ast.Attribute(value=ast.Name(id="pkgutil"), attr="iter_modules"), [ast.Attribute(value=owner)]:
                return self._folder(owner)
            case ast.Name(id="list" | "tuple"), [items]:
                return list(self.value(items))
            case ast.Name(id="sorted"), [items]:
                return sorted(self.value(items))
            case ast.Name(id=name), []:
                found = self.project.find(self.module, name)
                if found is not None and isinstance(found.node, ast.FunctionDef):
                    match found.node.body[-1]:
                        case ast.Return(value=ast.expr() as result):
                            return self.project.value(found.module, result)
        raise Unreadable(self._where(node))

    def _folder(self, owner: ast.expr) -> list[dict[str, str]]:
        """What `pkgutil.iter_modules(package.__path__)` lists, as mappings with the member `name`."""
        package = self.value(owner)
        if not isinstance(package, Symbol) or self.project.module(package.name) is None:
            raise Unreadable(self._where(owner))
        folder = package.name.replace(".", "/") + "/"
        below = {path.removeprefix(folder) for path in self.project.sources.names() if path.startswith(folder)}
        modules = {path.removesuffix(".py") for path in below if path.endswith(".py") and "/" not in path}
        modules |= {
            path.removesuffix("/__init__.py") for path in below if path.count("/") == 1 and "__init__.py" in path
        }
        return [{"name": name} for name in sorted(modules - {"__init__"})]


def registered(project: Project, module: Module, registry: str) -> list[str]:
    """The names under which the tree puts something into a registry of `module`.

    The registering function is the one that writes `registry[name] = ...`; its calls are looked for in the package
    that `module` lies in.
    """
    for function in module.functions.values():
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=into), slice=ast.Name(id=key))]) if (
                    into == registry
                ):
                    calls = registrations(
                        project, module, function.name, [arg.arg for arg in function.args.args].index(key)
                    )
                    return [name for name, _, _ in calls]
    raise Unreadable(f"{module.path}: nothing registers into {registry}")


def registrations(
    project: Project, module: Module, function: str, position: int = 0
) -> Iterator[tuple[str, Module, ast.Call]]:
    """Every call of a registering function of `module` in its package: the name it registers, where, and the call."""
    target = module.functions[function]
    for other in project.within(module.name.rpartition(".")[0]):
        for node in ast.walk(other.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > position:
                found = project.find(other, node.func.id)
                if found is not None and found.node is target:
                    yield project.value(other, node.args[position]), other, node
