"""Angles as `!degrees` and `!radians` of xacro and rosparam write them: numbers, or small sums such as `pi/2`."""

import ast
import math
import operator
from collections.abc import Callable

LONGEST = 200
"""Characters of the longest expression that is read."""

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def angle(text: str, tag: str) -> float | None:
    """The radians of a scalar with one of ANGLE_TAGS; None where it is no finite number or sum of numbers and pi."""
    if len(text) > LONGEST or not text.isascii():
        return None
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    radians = math.radians(value) if tag == "!degrees" else value
    return radians if math.isfinite(radians) else None


def _value(node: ast.expr) -> float:
    """The number of an expression.

    Raises:
        ValueError: it is something else than numbers, pi, the four operations and signs.
    """
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id="pi"):
            return math.pi
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _BINARY:
            return _BINARY[type(operation)](_value(left), _value(right))
        case _:
            raise ValueError(ast.dump(node))
