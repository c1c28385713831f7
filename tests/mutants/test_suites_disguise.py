"""A module in disguise does what it does, and looks like nothing that was there before."""

from __future__ import annotations

import ast
import random
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from tests.mutants.shelf import SOURCES

from looptck_mutants.harness import Harness
from looptck_mutants.manifest import Mutant
from looptck_mutants.patchfile import PACKAGE
from looptck_mutants.project import Project, reference_project
from looptck_mutants.suites.codes import Codes
from looptck_mutants.suites.disguise import disguise, disguised

SNIPPETS = """
# a generator
def f():
    'doc'
    for x in range(3):
        y = x
        yield y
show(list(f()), f.__doc__)

# a function that only returns
def f(): return 7
show(f())

# one that only has a docstring
def f():
    'doc'
show(f(), f.__doc__)

# one that looks at its variables
def f(a):
    b = 1
    return sorted(set(locals()) & {'a', 'b'})
show(f(2))

# one that evaluates
def f():
    b = 1
    return eval('b')
show(f())

# one that counts its variables
def f(a):
    b = 1
    return len(locals()), sorted(vars()), sorted(dir())
show(f(2))

# one that gives all of them away
def f(a):
    b = 1
    return dict(**locals())
show(f(2))

# one that executes
def f():
    b = 1
    exec('show(b, sorted(locals()))')
f()

# one that looks at its frame
import sys
def f():
    b = 1
    return sorted(sys._getframe().f_locals)
show(f())

# one whose inner function looks
def f():
    a = 1
    def g():
        b = a
        return sorted(locals())
    return g()
show(f())

# a mark for whoever looks at frames
import sys
def f():
    __tracebackhide__ = True
    return g()
def g():
    return sys._getframe(1).f_locals['__tracebackhide__']
show(f())

# parameters by name
def f(a, *b, c, **d):
    a = a + 1
    return a, b, c, d
show(f(1, 2, c=3, e=4))

# an inner function
def f():
    a = 1
    def g():
        nonlocal a
        a += 1
        return a
    return g() + a
show(f())

# a lambda
def f():
    a = 2
    return (lambda: a)()
show(f())

# a comprehension
def f():
    a = 2
    return [a * x for x in (1, 2)]
show(f())

# a global
a = 1
def f():
    global a
    a = 2
f()
show(a)

# an exception
def f():
    try:
        raise KeyError(1)
    except KeyError as e:
        b = e.args
        return b
show(f())

# an import
def f():
    import os.path
    from os import sep as s
    b = s
    return b, os.path.sep
show(f())

# a match
def f(v):
    match v:
        case [x, *y]:
            z = x
            return z, y
show(f([1, 2]))

# an annotation
def f():
    a: int = 1
    b = a
    return b
show(f())

# deleting
def f():
    a = 1
    del a
    try:
        a
    except NameError:
        return 'gone'
show(f())

# classes
class A:
    x = 1
    def f(self):
        y = self.x
        return y
class B(A):
    def f(self):
        z = super().f()
        return z + 1
show(B().f(), sorted(n for n in vars(A) if n[0] != '_'))

# defaults
a = 4
def f(b=a):
    a = b
    return a
show(f())

# coroutines
import asyncio
async def f():
    x = await asyncio.sleep(0, 3)
    return x
show(asyncio.run(f()))
"""
DOES = dict(re.findall(r"^# (.*)\n((?:.+\n)+)", SNIPPETS, re.MULTILINE))


@pytest.mark.parametrize("text", DOES.values(), ids=DOES)
def test_a_module_in_disguise_does_what_it_does(text: str) -> None:
    def shown(code: types.CodeType) -> list[object]:
        said: list[object] = []
        exec(code, {"show": lambda *what: said.append(what)})  # noqa: S102 - that is what is tested
        return said

    assert len(DOES) == SNIPPETS.count("# ")
    plain = shown(compile(text, "plain", "exec"))
    assert plain
    for seed in range(25):
        assert shown(disguise(text, "disguised", random.Random(seed))) == plain


def functions(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from functions(constant)


def written(code: types.CodeType) -> dict[str, types.CodeType]:
    """The functions of a module that a disguise is put on: no lambdas, no comprehensions, no classes."""
    return {
        each.co_qualname: each
        for each in functions(code)
        if "<lambda>" not in each.co_name and "comp>" not in each.co_name and "genexpr" not in each.co_name
        if each.co_flags & 1
    }


@pytest.mark.parametrize("module", [name for name, text in SOURCES.items() if "def " in text])
def test_every_function_looks_different_each_time(module: str) -> None:
    text = SOURCES[module]
    plain = written(compile(text, "m", "exec", dont_inherit=True))
    first, second = (written(disguise(text, "m", random.Random(seed))) for seed in (1, 2))
    assert plain.keys() == first.keys() == second.keys()
    for name, one in plain.items():
        for other, another in ((one, first[name]), (first[name], second[name])):
            assert other.co_code != another.co_code or other.co_consts != another.co_consts, name
            assert other.co_varnames != another.co_varnames, name
            assert other.co_firstlineno != another.co_firstlineno, name


def test_two_with_one_seed_are_the_same_and_no_two_draws_are() -> None:
    module = {"looptck_reference.loop": SOURCES["looptck_reference.loop"]}
    codes = [Codes("looptck_reference", None, SOURCES, 7) for _ in range(2)]
    drawn = [each.disguised(module, "m/0")["looptck_reference.loop"] for each in codes]
    assert drawn[0] == drawn[1]
    assert codes[0].original(module, "m/1")["looptck_reference.loop"] != drawn[0]
    assert codes[0].plain["looptck_reference"][:2] == codes[0].disguised(module, "m/2")["looptck_reference"][:2]


def test_what_is_drawn_depends_on_no_order() -> None:
    """Threads ask in any."""
    module = {"looptck_reference.loop": SOURCES["looptck_reference.loop"]}
    first, second = (Codes("looptck_reference", None, SOURCES, 7) for _ in range(2))
    runs = [f"m/{number}" for number in range(4)]
    forwards = {run: first.disguised(module, run) for run in runs}
    assert {run: second.original(module, run) for run in reversed(runs)} == forwards
    assert len({modules["looptck_reference.loop"] for modules in forwards.values()}) == len(runs)


def test_only_what_sees_its_variables_is_left_as_it_is() -> None:
    text = "def f(a):\n    b = vars(a), dir(a)\n    return b\ndef g(a):\n    b = a\n    return vars()\n"
    plain, other = written(compile(text, "m", "exec")), written(disguise(text, "m", random.Random(1)))
    assert len(other["f"].co_varnames) > len(plain["f"].co_varnames)
    assert other["f"].co_varnames[1] != "b"
    assert (other["g"].co_varnames, other["g"].co_code) == (plain["g"].co_varnames, plain["g"].co_code)
    assert other["g"].co_firstlineno != plain["g"].co_firstlineno


@dataclass(frozen=True, slots=True)
class InDisguise(Project):
    """A project whose every mutant is the loop itself, in disguise."""

    def patched(self, mutant: Mutant, sources: Mapping[str, str]) -> Mapping[str, str]:
        chance = random.Random(mutant.id)
        return {name: ast.unparse(disguised(text, name, chance)) for name, text in sources.items() if name in LOADED}


LOADED = tuple(name for name in SOURCES if name.rpartition(".")[2] in {"looptck_reference", "loop", "limits", "stream"})


def test_the_kits_own_suite_finds_nothing_in_a_disguise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slower than others: it runs the whole suite three times."""
    for module in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        monkeypatch.delitem(sys.modules, module)  # a test that ran before may have imported it
    real = reference_project("ag03")
    project = InDisguise(real.profile, real.loop, real.package, real.patches, real.mutants[:2])
    judge = Harness(project, 3)
    report = judge.run(project.mutants, judge.baseline(), lambda _report: None)
    assert [(mutant.verdict, mutant.killed_by) for mutant in report.mutants] == [("survived", [])] * 2
