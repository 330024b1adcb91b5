"""A module of LLVM IR under construction: functions, what they declare, constants, and loop annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....tracer.graph import Const
from . import vmath
from .vmath import pairs

Wanted = tuple[str, str]


class Module:
    """Collects the parts of a module. `lanes` are the widths that the vector math exists in, by "f64" and "f32"."""

    def __init__(self, lanes: Mapping[str, Sequence[int]]) -> None:
        self.lanes = lanes
        self.functions: list[str] = []
        self.math: dict[Wanted, None] = {}
        self.externals: dict[str, None] = {}
        self.constants: list[str] = []
        self._notes: list[str] = []
        self._names = 0

    def name(self, stem: str) -> str:
        """A new name for a function: the user's names stay out, so that equal programs have equal text."""
        self._names += 1
        return f"{stem}{self._names}"

    def declare(self, text: str) -> None:
        self.externals[text] = None

    def call_note(self, name: str, short: str) -> str:
        """What a call of vector math carries, so that loops find its vector form."""
        attribute = pairs.pair_attribute(short, self.lanes[short]) if name == pairs.NAME else ""
        return f" nounwind willreturn memory(none) {attribute or vmath.call_attribute(name, short, self.lanes[short])}"

    def constant(self, value: Const) -> str:
        """A global that holds an array."""
        array = np.ascontiguousarray(value.array())
        name = f"@c{len(self.constants) + 1}"
        data = array.tobytes() or b"\0"
        text = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
        self.constants.append(f'{name} = private constant [{len(data)} x i8] c"{text}", align 64')
        return name

    def vector_note(self, width: int) -> str:
        """The annotation of a loop that is to be vectorised at a width."""
        number = 2 * len(self._notes)
        self._notes.append(
            f"!{number} = distinct !{{!{number}, !{number + 1}, !100000}}\n"
            f'!{number + 1} = !{{!"llvm.loop.vectorize.width", i32 {width}}}'
        )
        return f", !llvm.loop !{number}"

    @property
    def wanted(self) -> list[Wanted]:
        return list(self.math)

    def __str__(self) -> str:
        math = [
            pairs.declare_pair(short, self.lanes[short])
            if name == pairs.NAME
            else vmath.declare(name, short, self.lanes[short])
            for name, short in self.math
        ]
        definitions = [text for text in self.externals if text.startswith("define")]
        declarations = [text for text in self.externals if not text.startswith("define")]
        parts = [*self.constants, *declarations, *math, vmath.keep(self.math, self.lanes), *definitions]
        parts += self.functions
        if self._notes:
            # not "enable": LLVM would print a warning for each loop that it can't vectorise
            parts += [*self._notes, '!100000 = !{!"llvm.loop.interleave.count", i32 1}']
        return "\n".join(part for part in parts if part) + "\n"
