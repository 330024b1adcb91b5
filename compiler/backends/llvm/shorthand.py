"""A shorthand for LLVM IR written by hand: names for numbers, and fields of structures in one line."""

from __future__ import annotations

import re
from string import Template
from typing import Any


def expand(text: str, **values: Any) -> str:
    """IR with names for numbers, and two instructions: ``%x = field T %base, offset``, ``put T x, %base, offset``."""
    text = Template(text).substitute(values)
    address = r"  \1.field = getelementptr i8, ptr \3, i64 \4\n  \1 = load \2, ptr \1.field"
    text = re.sub(r"^  (%[\w.]+) = field (\w+) (\S+), (\S+)$", address, text, flags=re.MULTILINE)
    puts = iter(range(len(text)))

    def put(match: re.Match[str]) -> str:
        value, base, offset = match.groups()
        at = f"%put.{next(puts)}"
        return f"  {at} = getelementptr i8, ptr {base}, i64 {offset}\n  store {value}, ptr {at}"

    return re.sub(r"^  put (.*), (\S+), (\S+)$", put, text, flags=re.MULTILINE)
