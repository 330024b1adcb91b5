"""Long programs cut into several functions: what numba takes to compile one grows faster than its length."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...kernel import If, Kernel, Loop, Statement

LONGEST = 500  # weight from which a program is cut, and that of a part
PART = 150
LOOP = 10  # the weight of a loop, in statements


def weight(statement: Statement) -> int:
    """What a statement costs to compile, in assignments."""
    if isinstance(statement, Kernel | Loop | If):
        own = LOOP if isinstance(statement, Loop) else 1
        return own + sum(map(weight, statement.body))
    return 1


def cut(body: tuple[Statement, ...]) -> list[tuple[Statement, ...]]:
    """The statements of a program in parts that are compiled apart; one part where it is short."""
    if sum(map(weight, body)) <= LONGEST:
        return [body]
    parts: list[list[Statement]] = [[]]
    filled = 0
    for statement in body:
        cost = weight(statement)
        if parts[-1] and filled + cost > PART:
            parts.append([])
            filled = 0
        parts[-1].append(statement)
        filled += cost
    return [tuple(part) for part in parts]


def names_of(lines: list[str]) -> tuple[set[str], set[str]]:
    """The names that lines of a function read, and those that they assign."""
    tree = ast.parse("while True:\n    0\n" + "\n".join(lines))
    read: set[str] = set()
    assigned: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else assigned).add(node.id)
            if not isinstance(node.ctx, ast.Load):
                continue
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read.add(node.target.id)
    return read, assigned


def link(
    texts: list[list[str]],
    given: list[str],
    returned: list[str],
    name: str,
    leaves: list[bool],
    placeholder: Callable[[str], str],
) -> tuple[list[str], list[str]]:
    """Functions for the parts but the last, and the lines that call them before it.

    `texts` are the lines of each part at the depth of one indent, `given` the names that exist before them.
    """
    uses = [names_of(text) for text in texts]
    functions: list[str] = []
    calls: list[str] = []
    known = set(given)
    for number, (text, (read, assigned)) in enumerate(zip(texts[:-1], uses, strict=False)):
        later = set(returned).union(*(r for r, _ in uses[number + 1 :]))
        inputs = sorted(known & read)
        outputs = sorted((assigned & later) - {"status"})
        part = f"{name}_part{number + 1}"
        head = f"def {part}({', '.join(inputs)}):\n"
        result = ", ".join(["0", *outputs])
        if leaves[number]:
            lines = ["    status = 0", "    while True:", *(f"    {line}" for line in text)]
            lines.append(f"        return ({result},)")
            lines.append(f"    return ({', '.join(['status', *map(placeholder, outputs)])},)")
        else:
            lines = [*text, f"    return ({result},)"]
        functions.append(head + "\n".join(lines) + "\n")
        calls.append(f"{', '.join(['status', *outputs])}{'' if outputs else ','} = {part}({', '.join(inputs)})")
        if leaves[number]:
            calls += ["if status != 0:", "    break"]
        known |= set(outputs)
    return functions, calls
