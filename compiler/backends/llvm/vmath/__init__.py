"""Vector math: elementary functions as LLVM IR, for one number and for vectors of them.

`module_text` writes the definitions. A kernel calls the scalar form with `call_attribute`, and the loop vectoriser puts
the vector form in its place; both are written by the same Python code and agree to the bit, so that a result doesn't
depend on where in an array a number lies. docs/vector-math.md has the measured errors and times.
"""

from .module import FUNCTIONS, call_attribute, declare, keep, module_text, symbol

__all__ = ["FUNCTIONS", "call_attribute", "declare", "keep", "module_text", "symbol"]
