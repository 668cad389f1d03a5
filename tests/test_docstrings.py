"""What a public function of the decisions and the engine refuses stands in its docstring."""

import ast
import re
from collections.abc import Iterator

from tests.test_architecture import FUNCTIONS, read_sources

SAYS_SO = re.compile(r"\brais\w+|\brefus\w+", re.IGNORECASE)


def public_functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods whose names, and those of their classes, are public."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS) and not child.name.startswith("_"):
            yield child
        elif isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from public_functions(child)


def raises(function: ast.AST) -> bool:
    """Whether its own body raises a new exception."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, FUNCTIONS):
            continue
        if (isinstance(child, ast.Raise) and child.exc is not None) or raises(child):
            return True
    return False


def test_what_a_function_raises_is_said() -> None:
    silent = [
        f"{source.path}: {function.name}"
        for source in read_sources("handlers", "limits", "schema")
        for function in public_functions(source.tree)
        if raises(function) and not SAYS_SO.search(ast.get_docstring(function) or "")
    ]
    assert silent == []


def test_what_it_finds() -> None:
    source = "def f():\n  'Does.'\n  if x:\n    raise E\nclass C:\n  def g(self):\n    'Raises: E.'\n    raise E\n"
    functions = list(public_functions(ast.parse(source)))
    assert [(function.name, raises(function)) for function in functions] == [("f", True), ("g", True)]
    assert not raises(ast.parse("def f():\n  try:\n    g()\n  except E:\n    raise\n").body[0])
