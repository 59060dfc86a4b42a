"""What one release of vLLM does with the connector it is given, and which flags it knows. Reads, runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

from .clients_load import Package
from .wheels import ReadError

FACTORY = "vllm.distributed.kv_transfer.kv_connector.factory"
OWN_CONNECTORS = "vllm.distributed.kv_transfer.kv_connector.v1"
ARGUMENTS = "vllm.engine.arg_utils"

Node = TypeVar("Node", bound=ast.AST)


def own_connector(package: Package, name: str) -> str | None:
    """The module with vLLM's own connector of this name, where it has one."""
    for call in _nodes(package, FACTORY, ast.Call):
        match call:
            case ast.Call(
                func=ast.Attribute(attr="register_connector"),
                args=[ast.Constant(value=known), ast.Constant(value=module), *_],
            ):
                if known == name:
                    return str(module)
    return None


def module_path_wins(package: Package) -> bool:
    """Whether a `kv_connector_module_path` is taken before vLLM's own connector of the same name, as opposed to ignored.

    The factory decides in one `if`: either the registry is asked first and the path used otherwise, or the reverse.
    """
    found = set()
    for branch in _nodes(package, FACTORY, ast.If):
        registry_first = _mentions([branch.test], "_registry") and _mentions(branch.orelse, "import_module")
        path_first = _mentions(branch.body, "import_module") and _mentions(branch.orelse, "_registry")
        if registry_first or path_first:
            found.add(path_first)
    if len(found) != 1:
        raise ReadError(f"{FACTORY}: whether kv_connector_module_path wins cannot be read; extend clients_vllm.py")
    return found.pop()


def flags(package: Package) -> set[str]:
    """The long flags of `vllm serve`, the `--no-` forms of its switches included."""
    kinds = {}
    for node in _nodes(package, ARGUMENTS, ast.Assign):
        # scheduler_kwargs = get_kwargs(SchedulerConfig)
        match node:
            case ast.Assign(
                targets=[ast.Name(id=kwargs)],
                value=ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=config)]),
            ):
                kinds[kwargs] = config
    known: set[str] = set()
    for call in _nodes(package, ARGUMENTS, ast.Call):
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"):
            continue
        words = [word.value for word in call.args if isinstance(word, ast.Constant)]
        names = [word for word in words if isinstance(word, str) and word.startswith("--")]
        known.update(names)
        if any(_is_switch(package, kinds, keyword.value) for keyword in call.keywords if keyword.arg is None):
            known.update(name.replace("--", "--no-", 1) for name in names)
    if "--model" not in known:
        raise ReadError(f"{ARGUMENTS}: the flags are not added there any more; extend clients_vllm.py")
    return known


def _is_switch(package: Package, kinds: dict[str, str], spread: ast.expr) -> bool:
    """Whether `**scheduler_kwargs["async_scheduling"]` describes a field of type bool, which vLLM makes an on/off flag."""
    for node in ast.walk(spread):
        match node:
            case ast.Subscript(value=ast.Name(id=kwargs), slice=ast.Constant(value=field)) if kwargs in kinds:
                _, config = package.definition(ARGUMENTS, kinds[kwargs])
                for statement in config.body if isinstance(config, ast.ClassDef) else []:
                    match statement:
                        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if name == field:
                            words = {part.id for part in ast.walk(annotation) if isinstance(part, ast.Name)}
                            return "bool" in words and "str" not in words
    return False


def _nodes(package: Package, module: str, kind: type[Node]) -> list[Node]:
    statements = package.statements(module)
    if statements is None:
        raise ReadError(f"vLLM has no module {module} any more; extend clients_vllm.py")
    return [node for node in ast.walk(ast.Module(statements, [])) if isinstance(node, kind)]


def _mentions(nodes: Sequence[ast.AST], attribute: str) -> bool:
    return any(
        isinstance(inner, ast.Attribute) and inner.attr == attribute for node in nodes for inner in ast.walk(node)
    )
