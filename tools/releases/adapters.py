"""Reads the second-tier (L2) adapter types of a release, and which members of their JSON they cannot do without.

An adapter's class reads its JSON object in `from_dict(cls, d)`. A member is required where the method takes it without
a default and then, whatever the other members say, refuses what a missing one gives: `None`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from .arguments import Method, method_of
from .modules import Module, Project, Unreadable, registrations
from .wheels import ReadError

CONFIG = "lmcache.v1.distributed.l2_adapters.config"
SERDE = "lmcache.v1.distributed.serde.factory"


@dataclass(frozen=True)
class AdapterType:
    """A registered type. `readable` is False where `from_dict` gives its object to code that is not followed."""

    name: str
    required: tuple[str, ...]
    readable: bool


def adapter_types(project: Project) -> list[AdapterType]:
    """The adapter types that a release registers, by name."""
    config = project.module(CONFIG)
    if config is None:
        raise ReadError(
            f"{project.sources.label} has no {CONFIG}: follow the adapters to where they went, in adapters.py"
        )
    found = []
    for name, module, call in registrations(project, config, "register_l2_adapter_type"):
        owner = (
            project.find(module, call.args[1].id) if len(call.args) > 1 and isinstance(call.args[1], ast.Name) else None
        )
        method = method_of(project, owner, "from_dict") if owner is not None else None
        required, readable = _required(project, method) if method is not None else ((), False)
        found.append(AdapterType(name, required, readable))
    return sorted(found, key=lambda adapter: adapter.name)


def serde_types(project: Project) -> list[str]:
    """The types that the member `serde` of an adapter's JSON may name; none before LMCache had them."""
    factory = project.module(SERDE)
    return sorted(name for name, _, _ in registrations(project, factory, "register_serde_factory")) if factory else []


def eviction_policies(project: Project) -> list[str]:
    """The policies that the member `eviction` of an adapter's JSON may name; none before LMCache read that member."""
    config = project.module(CONFIG)
    if config is None or "_parse_eviction_config" not in ast.dump(config.tree):
        return []
    for node in ast.walk(config.tree):
        match node:
            case ast.Compare(left=ast.Name(id="policy"), ops=[ast.NotIn()], comparators=[words]):
                return sorted(project.value(config, words))
    raise ReadError(f"{config.path} checks eviction_policy in a way that is not known here; extend adapters.py")


def _required(project: Project, method: Method) -> tuple[tuple[str, ...], bool]:
    parameter = method.function.args.args[1].arg
    taken: dict[str, str] = {}
    required: list[str] = []
    readable = _only_looked_into(method.function, parameter)
    for statement in method.function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                key := _bare_get(value, parameter)
            ) is not None:
                taken[name] = key
            case ast.Assign(value=ast.Call(func=ast.Name(id=checker), args=[first, *_])) if (
                key := _bare_get(first, parameter)
            ) is not None:
                # `path = _check_path(d.get("path"))`: what the function does with None decides.
                found = project.find(method.module, checker)
                function = found.node if found is not None else None
                if isinstance(function, ast.FunctionDef) and found is not None:
                    name = function.args.args[0].arg
                    required += [key] if _refuses(project, found.module, function.body, name) else []
            case ast.If():
                for name, key in taken.items():
                    if _refuses(project, method.module, [statement], name):
                        required.append(key)
    return tuple(dict.fromkeys(required)), readable


def _only_looked_into(function: ast.FunctionDef, parameter: str) -> bool:
    """Whether the object is only used as `d.get(...)`, `d[...]`, `in d`, or by a `_parse_...` of the base class."""
    known = 0
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="get" | "items") if name == parameter:
                known += 1
            case ast.Subscript(value=ast.Name(id=name)) if name == parameter:
                known += 1
            case ast.Compare(comparators=[ast.Name(id=name)]) if name == parameter:
                known += 1
            case ast.Call(func=ast.Attribute(attr=called), args=[ast.Name(id=name)]) if (
                name == parameter and called.startswith("_parse_")
            ):
                known += 1
    uses = sum(isinstance(node, ast.Name) and node.id == parameter for node in ast.walk(function))
    # Arguments of the constructor that are looked up in place may be checked there, which is not followed.
    inline = any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "cls"
        and any(_looked_up(word.value, parameter) for word in node.keywords)
        for node in ast.walk(function)
    )
    return uses == known and not inline


def _looked_up(node: ast.expr, parameter: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get")) if name == parameter:
            return True
    return False


def _bare_get(node: ast.expr, parameter: str) -> str | None:
    """The key of `d.get("key")`, `d.get("key", None)` or `d["key"]`; None for everything else."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="get"),
            args=[ast.Constant(value=str(key))] | [ast.Constant(value=str(key)), ast.Constant(value=None)],
        ) if name == parameter:
            return key
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if name == parameter:
            return key
    return None


def _refuses(project: Project, module: Module, body: list[ast.stmt], name: str) -> bool:
    """Whether one of these `if`s surely raises when `name` is None."""
    return any(
        isinstance(statement, ast.If)
        and isinstance(statement.body[-1], ast.Raise)
        and _with_none(project, module, statement.test, name) is True
        for statement in body
    )


def _with_none(project: Project, module: Module, test: ast.expr, name: str) -> Any:
    """What a test comes to when `name` is None: True, False, or None where that depends on more."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _with_none(project, module, operand, name)
            return None if inner is None else not inner
        case ast.BoolOp(op=op, values=parts):
            decisive = isinstance(op, ast.Or)
            for part in parts:
                worth = _with_none(project, module, part, name)
                if worth is not (not decisive):
                    return worth
            return not decisive
        case ast.Name(id=found) if found == name:
            return False
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=found), _]) if found == name:
            return False
        case ast.Compare(left=ast.Name(id=found), ops=[op], comparators=[other]) if found == name:
            match op, other:
                case ast.Is() | ast.Eq(), ast.Constant(value=None):
                    return True
                case ast.IsNot() | ast.NotEq(), ast.Constant(value=None):
                    return False
                case ast.In() | ast.NotIn(), _:
                    try:
                        return (None in project.value(module, other)) is isinstance(op, ast.In)
                    except Unreadable:
                        return None
    return None
