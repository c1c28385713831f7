"""Rewrites a module so that it looks different and does the same.

A suite must not be able to tell a mutant from the original by anything but what it does. So the mutants are never run
as they are written: of every module that is run in disguise, each function has further local variables and statements
without effect, other names for its own variables where nobody can see them, and other line numbers, all drawn anew. A
function that looks at its own variables has other line numbers only. The original runs in disguise as well. Whoever
compares bytecode, constants or lines finds both to be different.
"""

from __future__ import annotations

import ast
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random
    from types import CodeType

_IDLE = (
    "{name} = {a} >= {b}",
    "{name} = {a} < {b} or {a} == {b}",
    "{name} = [{a}, {b}][{a} > {b}]",
    "{name} = -{a} + {b}",
    "{name} = not {a} > {b}",
    "for {name} in (): {name} += {a}",
    "if ({name} := {a}) is None: {name} = {b}",
    "{name} = len(({a}, {b})) - 1",
    "{name} = ({a}).real",
    "{name} = {{{a}: {b}}}.get({a})",
    "while ({name} := {a}) != {a}: break",
    "{name} = {a} in ({b}, {a})",
)
"""Statements that do nothing but set a variable that nobody reads; of kinds that loops are made of."""
_SEES_LOCALS = frozenset({"locals", "eval", "exec", "_getframe", "currentframe"})
_SEES_LOCALS_WITHOUT_ARGUMENTS = frozenset({"vars", "dir"})
_FAR = 40
"""Lines that a statement may move away from the one before."""


_TREES = threading.Lock()
"""Held where trees are made and compiled: in Python 3.11 two threads that do so confuse each other's depths."""


def disguise(source: str, path: str, chance: Random) -> CodeType:
    """The code of a module, in disguise. Raises what `compile` does."""
    with _TREES:
        code: CodeType = compile(disguised(source, path, chance), path, "exec", dont_inherit=True)
    return code


def disguised(source: str, path: str, chance: Random) -> ast.Module:
    """The module, in disguise, before it is compiled."""
    tree: ast.Module = _Disguise(chance).visit(ast.parse(source.encode(), path))  # as bytes, like a file
    moved = 0
    for statement in tree.body:
        moved += chance.randrange(1, _FAR)
        ast.increment_lineno(statement, moved)
    return tree


class _Disguise(ast.NodeTransformer):
    """Puts idle statements into every function and gives its own variables other names."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function."""
        return self._disguised(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """A coroutine function."""
        return self._disguised(node)

    def _disguised(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        if _sees_its_variables(node):
            return node
        renamed = {name: self._name() for name in sorted(_own_variables(node))}
        for each in (each for statement in node.body for each in ast.walk(statement)):
            if isinstance(each, ast.Name):
                each.id = renamed.get(each.id, each.id)
        first = _first(node.body)
        # One where it is always reached: the compiler leaves out what stands behind a return.
        for place in (self._chance.randint(first, len(node.body)), first):
            node.body.insert(place, self._idle(node.body[min(place, len(node.body) - 1)]))
        return node

    def _idle(self, near: ast.stmt) -> ast.stmt:
        text = self._chance.choice(_IDLE).format(
            name=self._name(), a=self._chance.randrange(10_000), b=self._chance.randrange(10_000)
        )
        (statement,) = ast.parse(text).body
        for node in ast.walk(statement):
            ast.copy_location(node, near)
        return statement

    def _name(self) -> str:
        return f"v{self._chance.getrandbits(40):x}"


def _first(body: Sequence[ast.stmt]) -> int:
    """The place behind a docstring."""
    first = body[0]
    return int(isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))


def _own_variables(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The variables of a function that only plain assignments bind and no inner scope sees; none where in doubt."""
    inside = [each for statement in node.body for each in ast.walk(statement)]
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension, ast.Match)
    if any(isinstance(each, scopes) for each in inside):
        return set()
    bound = {each.id for each in inside if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    other = {name for each in inside for name in _bound_otherwise(each)}
    around = node.args
    parameters = [*around.posonlyargs, *around.args, *around.kwonlyargs, around.vararg, around.kwarg]
    own = bound - other - {parameter.arg for parameter in parameters if parameter is not None}
    # Such as `__tracebackhide__`: others look for it by its name.
    return {name for name in own if not (name.startswith("__") and name.endswith("__"))}


def _sees_its_variables(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether anything in a function may look at its variables as a whole, and would see more of them."""
    inside = [each for statement in node.body for each in ast.walk(statement)]
    of_another = {id(each.func) for each in inside if isinstance(each, ast.Call) and (each.args or each.keywords)}
    for each in inside:
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name in _SEES_LOCALS or (name in _SEES_LOCALS_WITHOUT_ARGUMENTS and id(each) not in of_another):
                    return True
    return False


def _bound_otherwise(node: ast.AST) -> Sequence[str]:
    match node:
        case ast.Global(names) | ast.Nonlocal(names):
            return names
        case ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.Import(names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).partition(".")[0] for alias in names]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []
