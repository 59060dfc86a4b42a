"""Follows the set-up of an argparse parser through a package's syntax trees and lists its `add_argument` calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from .modules import Defined, Locals, Module, Project, Symbol, Unreadable
from .wheels import ReadError

# Methods of a parser or of a group of it that add no option.
HARMLESS = {"set_defaults", "parse_args", "parse_known_args", "print_help", "error"}
GROUPS = {"add_argument_group", "add_mutually_exclusive_group"}
SETTINGS = {"type", "nargs", "action", "choices", "required", "default", "help"}


@dataclass
class Argument:
    """One option as its `add_argument` call describes it."""

    options: list[str]
    type: str | None = None
    nargs: str | int | None = None
    action: str = "store"
    choices: list[Any] | None = None
    required: bool = False
    default: Any = None
    hidden: bool = False
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class Method:
    """A function or a method; `owner` is the class whose methods `self` stands for."""

    module: Module
    function: ast.FunctionDef
    owner: Defined | None = None


# The value of names that hold a parser or a group of one.
PARSER = Symbol("argparse.ArgumentParser()")


class Reader:
    """Collects the options of one parser. `spoken` gives choices that the tree does not tell: option -> words."""

    def __init__(self, project: Project, spoken: dict[str, list[str]] | None = None) -> None:
        self.project = project
        self.spoken = spoken or {}
        self.arguments: list[Argument] = []
        self._within: list[ast.FunctionDef] = []

    def follow(self, method: Method, local: Locals | None = None) -> list[Argument]:
        """Reads a function and all functions that it hands the parser on to."""
        if method.function in self._within:
            raise ReadError(f"{method.module.path}: {method.function.name} hands its parser on to itself")
        self._within.append(method.function)
        names = dict(local or {})
        self._statements(method, method.function.body, names)
        self._within.pop()
        return self.arguments

    def _statements(self, method: Method, body: list[ast.stmt], names: Locals) -> None:
        for statement in body:
            match statement:
                case ast.FunctionDef() | ast.ClassDef() if _adds(statement):
                    raise ReadError(
                        f"{self._where(method, statement)}: options in a nested function; extend arguments.py"
                    )
                case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                    continue
                case ast.Try():
                    # The package is whole where the command runs, so no handler of a failed import does.
                    self._statements(method, [*statement.body, *statement.orelse, *statement.finalbody], names)
                case ast.With():
                    self._statements(method, statement.body, names)
                case ast.If() | ast.For() | ast.While() | ast.Match():
                    used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
                    if any(names.get(name) == PARSER for name in used):
                        raise ReadError(
                            f"{self._where(method, statement)}: options depend on a condition, which cannot be read; "
                            "extend arguments.py"
                        )
                case _:
                    result = None
                    for call in _outermost_calls(statement):
                        result = self._call(method, call, names)
                    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                        names[statement.targets[0].id] = self._assigned(method, statement.value, result, names)

    def _assigned(self, method: Method, node: ast.expr, result: Any, names: Locals) -> Any:
        if result == PARSER:
            return PARSER
        try:
            return self.project.value(method.module, node, names)
        except Unreadable:
            return Symbol(ast.unparse(node))

    def _call(self, method: Method, call: ast.Call, names: Locals) -> Any:
        """Reads what a call adds; the result is `PARSER` where it gives a parser or a group."""
        handed = [arg for arg in [*call.args, *(word.value for word in call.keywords)] if self._is_parser(arg, names)]
        match call.func:
            case ast.Attribute(value=owner, attr=name) if self._gives_parser(method, owner, names):
                if name == "add_argument":
                    self.arguments.append(self._argument(method, call, names))
                    return None
                if name in GROUPS:
                    return PARSER
                if name in HARMLESS:
                    return None
                raise ReadError(
                    f"{self._where(method, call)}: {name} on a parser is not known here; extend arguments.py"
                )
            case ast.Attribute(attr="add_parser" | "ArgumentParser") | ast.Name(id="ArgumentParser"):
                self._new_parser(method, call)
                return PARSER
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if handed and method.owner is not None:
                found = method_of(self.project, method.owner, name)
                if found is not None:
                    return self._hand_on(found, call, names, skip=1)
            case ast.Name(id=name) if handed:
                defined = self.project.find(method.module, name)
                if defined is not None and isinstance(defined.node, ast.FunctionDef):
                    return self._hand_on(Method(defined.module, defined.node), call, names, skip=0)
            case ast.Attribute(attr="add_argument"):
                pass
            case _ if not handed:
                return None
        raise ReadError(f"{self._where(method, call)}: a parser goes where it cannot be followed; extend arguments.py")

    def _hand_on(self, callee: Method, call: ast.Call, names: Locals, skip: int) -> Symbol:
        parameters = [arg.arg for arg in callee.function.args.args][skip:]
        given = dict(zip(parameters, call.args, strict=False)) | {
            word.arg: word.value for word in call.keywords if word.arg
        }
        self.follow(callee, {name: PARSER for name, node in given.items() if self._is_parser(node, names)})
        return PARSER

    def _gives_parser(self, method: Method, owner: ast.expr, names: Locals) -> bool:
        if isinstance(owner, ast.Call):
            # `parser.add_argument_group("Cache").add_argument("--size")`
            return bool(self._call(method, owner, names) == PARSER)
        return self._is_parser(owner, names)

    @staticmethod
    def _is_parser(node: ast.expr, names: Locals) -> bool:
        return isinstance(node, ast.Name) and names.get(node.id) == PARSER

    def _new_parser(self, method: Method, call: ast.Call) -> None:
        for keyword in call.keywords:
            if keyword.arg in {"allow_abbrev", "prefix_chars", "fromfile_prefix_chars", "parents", "add_help"}:
                raise ReadError(
                    f"{self._where(method, call)}: {keyword.arg} changes how options are read; extend arguments.py"
                )
        self.arguments.append(Argument(["-h", "--help"], action="help", where=self._where(method, call)))

    def _argument(self, method: Method, call: ast.Call, names: Locals) -> Argument:
        where = self._where(method, call)
        try:
            options = [self.project.value(method.module, arg, names) for arg in call.args]
        except Unreadable as error:
            raise ReadError(f"{where}: the name of an option cannot be read ({error})") from error
        argument = Argument(options, where=where)
        if not options or not all(option.startswith("-") for option in options):
            raise ReadError(f"{where}: {options} is no option; positional arguments are not known here")
        for keyword in call.keywords:
            if keyword.arg is None:
                raise ReadError(f"{where}: {options[-1]} gets its settings from a mapping, which cannot be read")
            if keyword.arg in SETTINGS:
                self._setting(method, argument, keyword.arg, keyword.value, names)
        return argument

    def _setting(self, method: Method, argument: Argument, name: str, node: ast.expr, names: Locals) -> None:
        option = argument.options[-1]
        try:
            value = self.project.value(method.module, node, names)
        except Unreadable as error:
            if name == "help":
                return
            if name == "choices" and option in self.spoken:
                argument.choices = sorted(self.spoken[option])
                return
            if name != "default":
                raise ReadError(
                    f"{argument.where}: {name} of {option} cannot be read ({error}); "
                    "say the choices in behaviour.toml, or extend modules.py"
                ) from error
            value = Symbol(ast.unparse(node))
        if name == "help":
            argument.hidden = value == Symbol("argparse.SUPPRESS")
        elif name == "choices":
            # Their order means nothing to argparse; sorted, a mere reordering is no change.
            argument.choices = sorted(value)
        elif name in {"type", "action"} and isinstance(value, Symbol):
            setattr(argument, name, value.name.removeprefix("argparse."))
        elif name == "default" and isinstance(value, Symbol):
            argument.default = {"code": value.name}
        else:
            setattr(argument, name, value)

    @staticmethod
    def _where(method: Method, node: ast.AST) -> str:
        return f"{method.module.path}:{getattr(node, 'lineno', '?')}"


def _adds(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Attribute) and inner.attr == "add_argument" for inner in ast.walk(node))


def _outermost_calls(statement: ast.stmt) -> list[ast.Call]:
    calls: list[ast.Call] = []
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Call):
            calls.append(node)
        else:
            pending.extend(ast.iter_child_nodes(node))
    return calls


def method_of(project: Project, owner: Defined, name: str) -> Method | None:
    """The method that an instance of the class `owner` has under this name, its own or inherited."""
    pending = [owner]
    while pending:
        found = pending.pop(0)
        if not isinstance(found.node, ast.ClassDef):
            continue
        for statement in found.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return Method(found.module, statement, owner)
        for base in found.node.bases:
            inherited = project.find(found.module, base.id) if isinstance(base, ast.Name) else None
            if inherited is not None:
                pending.append(inherited)
    return None


def command(project: Project, package: str, name: str) -> Method | None:
    """How the command of this name sets its parser up: the method `register` of the class whose `name()` says so."""
    for module in project.within(package):
        if module.name.count(".") > package.count(".") + 1:
            # Deeper lie commands of commands: `lmcache bench server` is another one than `lmcache server`.
            continue
        for node in module.classes.values():
            owner = Defined(module, node)
            said = method_of(project, owner, "name")
            if said is None or said.module is not module or said.function not in node.body:
                continue
            match said.function.body[-1]:
                case ast.Return(value=ast.Constant(value=found)) if found == name:
                    return method_of(project, owner, "register")
    return None
