"""einsum: subscripts read, diagonals and sums taken first, then pairs of operands contracted as matrix products."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import Dim
from ..errors import ShapeError
from ..types import broadcast
from ..values import dtype_of, emit, facts, number, rank_of, sizes
from .common import array, cast, deliver, iota, permute, product, promote, reshape
from .linear import matmul

Label = Any  # a letter, an integer of a sublist, or ("...", axis counted from the right)
Labels = tuple[Label, ...]


def einsum(*operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    # `order` is about memory and `optimize` about the order of the work: neither changes the values
    terms, output, items = _read(operands)
    if dtype is not None:
        for item in items:
            if not np.can_cast(dtype_of(item), dtype, casting):
                raise TypeError(f"Cannot cast einsum operand from {dtype_of(item)} to {np.dtype(dtype)} ('{casting}')")
    return deliver(contract(promote(items, dtype), terms, output), out)


# reading subscripts


def _read(operands: tuple[Any, ...]) -> tuple[list[Labels], Labels, list[Any]]:
    """The labels of each operand and of the result, from either form of the call."""
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    if isinstance(operands[0], str):
        items = [array(x) for x in operands[1:]]
        left, arrow, right = operands[0].replace(" ", "").partition("->")
        parts, result = [_letters(t) for t in left.split(",")], _letters(right) if arrow else None
    else:
        pairs = len(operands) // 2
        items = [array(x) for x in operands[0 : 2 * pairs : 2]]
        parts = [_numbers(t) for t in operands[1 : 2 * pairs : 2]]
        result = _numbers(operands[-1]) if len(operands) % 2 else None
    if len(parts) != len(items):
        more = "fewer" if len(items) < len(parts) else "more"
        raise ValueError(f"{more} operands provided to einstein sum function than specified in the subscripts string")
    terms = [
        _spelled_out(part, rank_of(item), place) for place, (part, item) in enumerate(zip(parts, items, strict=True))
    ]
    return terms, _output(terms, result), items


def _letters(text: str) -> list[Label]:
    before, dots, after = text.partition("...")
    for letter in before + after:
        if not (letter.isascii() and letter.isalpha()):
            raise ValueError(
                f"invalid subscript '{letter}' in einstein sum subscripts string, subscripts must be letters"
            )
    return [*before, *([Ellipsis] if dots else []), *after]


def _numbers(sublist: Sequence[Any]) -> list[Label]:
    return [label if label is Ellipsis else operator.index(label) for label in sublist]


def _spelled_out(part: list[Label], rank: int, place: int) -> Labels:
    """A term with a label for each axis that its ellipsis stands for."""
    count = rank - len(part) + (Ellipsis in part)
    if count < 0 or (count and Ellipsis not in part):
        text = "contains too many subscripts for" if count < 0 else "does not contain enough subscripts for"
        raise ValueError(f"einstein sum subscripts string {text} operand {place} with {rank} axes")
    if Ellipsis not in part:
        return tuple(part)
    dots = part.index(Ellipsis)
    return (*part[:dots], *(("...", axis) for axis in range(count, 0, -1)), *part[dots + 1 :])


def _output(terms: list[Labels], result: list[Label] | None) -> Labels:
    counts = Counter(label for term in terms for label in term)
    dots = sorted((label for label in counts if isinstance(label, tuple)), reverse=True)
    if result is None:
        return (*dots, *sorted(label for label in counts if not isinstance(label, tuple) and counts[label] == 1))
    if dots and Ellipsis not in result:
        text = "output has fewer dimensions than the broadcast ellipsis dimensions: it needs '...'"
        raise ValueError(f"einstein sum subscripts string: {text}")
    flat: list[Label] = []
    for label in result:
        flat.extend(dots if label is Ellipsis else [label])
    for label in flat:
        if flat.count(label) > 1:
            raise ValueError(f"einstein sum subscripts string includes output subscript '{label}' multiple times")
        if label not in counts:
            text = "which never appeared in an input"
            raise ValueError(f"einstein sum subscripts string included output subscript '{label}' {text}")
    return tuple(flat)


# contraction


def contract(items: list[Any], terms: list[Labels], output: Labels) -> Any:
    """The sum of products of `items` (of one dtype) over every label that `output` lacks."""
    parts = [_diagonal(item, term) for item, term in zip(items, terms, strict=True)]
    extent = _extents(parts)
    parts = [_unstretched(item, term, extent) for item, term in parts]
    for step in _path(parts, output):
        chosen = [parts[i] for i in step]
        parts = [part for i, part in enumerate(parts) if i not in step]
        needed = set(output).union(*(term for _, term in parts))
        item, term = _summed(*chosen[0], needed.union(*(t for _, t in chosen[1:])))
        for place, other in enumerate(chosen[1:], 2):
            later = needed.union(*(t for _, t in chosen[place:]))
            item, term = _pair((item, term), other, later)
        parts.append((item, term))
    item, term = _summed(*parts[0], set(output))
    return permute(item, [term.index(label) for label in output])


def _diagonal(item: Any, term: Labels) -> tuple[Any, Labels]:
    """An operand with the diagonal taken of each label that it repeats."""
    for label, count in Counter(term).items():
        if count == 1:
            continue
        axes = tuple(i for i, other in enumerate(term) if other == label)
        length = sizes(item)[axes[0]]
        for axis in axes[1:]:
            if facts().same(length, sizes(item)[axis]) is None:
                got = f"({number(length)} != {number(sizes(item)[axis])})"
                raise ShapeError(
                    f"einsum: dimensions of one operand for the repeated index '{label}' don't match {got}"
                )
        item = emit("gather", item, *[iota(length)] * len(axes), axes=axes, at=axes[0])
        term = tuple(other for i, other in enumerate(term) if i not in axes[1:])
    return item, term


def _extents(parts: list[tuple[Any, Labels]]) -> dict[Label, int | Dim]:
    """The size of each label; axes of length 1 stretch."""
    extent: dict[Label, int | Dim] = {}
    for item, term in parts:
        for label, size in zip(term, sizes(item), strict=True):
            try:
                (extent[label],) = broadcast(facts(), (extent.get(label, 1),), (size,))
            except ShapeError:
                got = f"{number(extent[label])} and {number(size)}"
                raise ShapeError(
                    f"einsum: operands could not be broadcast together: index '{label}' has sizes {got}"
                ) from None
    return extent


def _unstretched(item: Any, term: Labels, extent: dict[Label, int | Dim]) -> tuple[Any, Labels]:
    """An operand without the axes along which it would be stretched: its one element counts for all places."""
    axes = tuple(
        i for i, (label, s) in enumerate(zip(term, sizes(item), strict=True)) if number(s) != number(extent[label])
    )
    if axes:
        item = emit("squeeze", item, axes=axes)
    return item, tuple(label for i, label in enumerate(term) if i not in axes)


def _path(parts: list[tuple[Any, Labels]], output: Labels) -> list[tuple[int, ...]]:
    """In which order to contract: what is cheapest at the present sizes."""
    if len(parts) <= 2:
        return [tuple(range(len(parts)))]
    import opt_einsum

    names: dict[Label, str] = {}
    for _, term in parts:
        for label in term:
            names.setdefault(label, opt_einsum.get_symbol(len(names)))
    inputs = ",".join("".join(names[label] for label in term) for _, term in parts)
    # a label may have gone from every operand but those of length 1
    result = "".join(names[label] for label in output)
    shapes = [tuple(map(number, sizes(item))) for item, _ in parts]
    path, _ = opt_einsum.contract_path(f"{inputs}->{result}", *shapes, shapes=True, optimize="auto")
    return [tuple(sorted(step)) for step in path]


def _summed(item: Any, term: Labels, needed: set[Label]) -> tuple[Any, Labels]:
    """An operand summed over the labels that nothing else needs."""
    axes = tuple(i for i, label in enumerate(term) if label not in needed)
    return (_sum(item, axes), tuple(label for label in term if label in needed)) if axes else (item, term)


def _sum(item: Any, axes: tuple[int, ...]) -> Any:
    """A sum in the operand's own dtype: einsum doesn't widen small integers, and truth values stay so."""
    if dtype_of(item).kind == "b":
        return emit("any", item, axes=axes)
    return cast(emit("sum", item, axes=axes), dtype_of(item))


def _product(a: Any, b: Any) -> Any:
    return emit("logical_and" if dtype_of(a).kind == "b" else "multiply", a, b)


def _pair(left: tuple[Any, Labels], right: tuple[Any, Labels], needed: set[Label]) -> tuple[Any, Labels]:
    """Contract two operands."""
    (a, ta), (b, tb) = _summed(*left, needed.union(right[1])), _summed(*right, needed.union(left[1]))
    both = [label for label in ta if label in tb]
    batch, inner = [label for label in both if label in needed], [label for label in both if label not in needed]
    rows, columns = [label for label in ta if label not in tb], [label for label in tb if label not in ta]
    term = (*batch, *rows, *columns)

    def arranged(item: Any, labels: Labels, order: list[Label]) -> Any:
        return permute(item, [labels.index(label) for label in order])

    if not inner:
        a, b = arranged(a, ta, batch + rows), arranged(b, tb, batch + columns)
        if rows and columns:
            a = emit("expand_dims", a, axes=tuple(range(len(batch + rows), len(term))))
        if rows and batch:
            b = emit("expand_dims", b, axes=tuple(range(len(batch), len(batch + rows))))
        elif columns and not rows and batch:
            a = emit("expand_dims", a, axes=tuple(range(len(batch), len(term))))
        return _product(a, b), term
    if not rows and not columns:
        a, b = arranged(a, ta, batch + inner), arranged(b, tb, batch + inner)
        return _sum(_product(a, b), tuple(range(len(batch), len(both)))), term
    size = {label: s for item, labels in ((a, ta), (b, tb)) for label, s in zip(labels, sizes(item), strict=True)}
    outer = tuple(size[label] for label in batch)
    m, n, k = (product(size[label] for label in group) for group in (rows, columns, inner))
    a = reshape(arranged(a, ta, batch + rows + inner), (*outer, m, k))
    b = reshape(arranged(b, tb, batch + inner + columns), (*outer, k, n))
    return reshape(emit("matmul", a, b), tuple(size[label] for label in term)), term


def multi_dot(arrays, *, out=None):
    items = [array(a) for a in arrays]
    if len(items) < 2:
        raise ValueError("Expecting at least two arrays.")
    if any(rank_of(x) != 2 for x in items[1:-1]) or any(rank_of(x) not in (1, 2) for x in (items[0], items[-1])):
        raise np.linalg.LinAlgError("multi_dot takes matrices; the first and the last may be vectors")
    if len(items) == 2:
        return deliver(matmul(*items), out)
    terms: list[Labels] = [(k, k + 1) for k in range(len(items))]
    if rank_of(items[0]) == 1:
        terms[0] = (1,)
    if rank_of(items[-1]) == 1:
        terms[-1] = (len(items) - 1,)
    output = (*terms[0][:-1], *terms[-1][1:])
    return deliver(contract(promote(items), terms, output), out)


def einsum_path(*operands, optimize="greedy", einsum_call=False):
    terms, output, items = _read(operands)
    shapes = [np.empty(tuple(map(number, sizes(x))), dtype=dtype_of(x)) for x in items]
    labels: dict[Label, int] = {}
    flat: list[Any] = []
    for shape, term in zip(shapes, terms, strict=True):
        flat += [shape, [labels.setdefault(label, len(labels)) for label in term]]
    return np.einsum_path(*flat, [labels[label] for label in output], optimize=optimize)


FUNCTIONS: dict[Any, Any] = {np.einsum: einsum, np.einsum_path: einsum_path, np.linalg.multi_dot: multi_dot}
