"""TOML texts for tests, with the line of each value: every value is a number that stands nowhere else."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from hypothesis import strategies as st

NAMES = st.one_of(
    st.sampled_from(["a", "b", "arm", "id", "9", "-x_1"]),
    st.text(st.sampled_from("ab .#=[]{}'\"\\\n\té"), max_size=4),
)
BLANKS = st.sampled_from(["", "\n", "# [x]\n", '  # a = 1 """\n\n', "\r\n", "\t\n"])
TEXTS = st.sampled_from(
    ['"a # b"', "'c = ] }'", '"\\"[["', '"""\n[[a]]\nx = 1\n"""', "'''\n# ' '' \n'''", '"""a"" \\"" b"""""', '""', "''"]
)
PLAIN = st.sampled_from(["true", "inf", "1979-05-27 07:32:00", "07:32:00.5", "0x1F", "1e-3"])
BARE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def key(name: str, draw: Any) -> str:
    """A name as a key, bare where it may be."""
    if name and BARE.issuperset(name) and draw(st.booleans()):
        return name
    if "'" not in name and "\n" not in name and draw(st.booleans()):
        return f"'{name}'"
    return json.dumps(name)


class Writer:
    """Writes a document in one of the many ways that TOML has."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.numbers = count(1_000_001)

    def dotted(self, names: list[str]) -> str:
        dot: str = self.draw(st.sampled_from([".", " . "]))
        return dot.join(key(name, self.draw) for name in names)

    def value(self, depth: int) -> str:
        """A value on one line or several."""
        choices = ["number", "text", "plain"] + (["list", "lines", "table"] if depth < 2 else [])
        match self.draw(st.sampled_from(choices)):
            case "number":
                return str(next(self.numbers))
            case "text":
                return str(self.draw(TEXTS))
            case "plain":
                return str(self.draw(PLAIN))
            case "table":
                return "{ " + ", ".join(self.pairs(depth + 1)) + " }"
            case kind:
                gap = self.draw(BLANKS) if kind == "lines" else ""
                parts = [self.value(depth + 1) for _ in range(self.draw(st.integers(0, 3)))]
                end = self.draw(st.sampled_from(["", f",{gap}"])) if parts else gap
                return f"[{gap}" + f"{gap},{gap} ".join(parts) + f"{end}]"

    def pairs(self, depth: int) -> list[str]:
        """`key = value` of a table, no name twice; a dotted key has a first name of its own."""
        names = self.draw(st.lists(NAMES, unique=True, max_size=3))
        pairs = []
        for name in names:
            below = self.draw(st.lists(NAMES, max_size=2 if depth < 2 else 0))
            pairs.append(f"{self.dotted([name, *below])} = {self.value(depth)}")
        return pairs

    def body(self) -> Iterator[str]:
        for pair in self.pairs(0):
            yield f"{pair}{self.draw(st.sampled_from(['', ' # x', ' ']))}\n{self.draw(BLANKS)}"

    def document(self) -> str:
        """A root and tables, each under a name of its own, some of them elements of arrays, with tables below."""
        draw = self.draw
        parts = [draw(BLANKS), *self.body()]
        for number in range(draw(st.integers(0, 4))):
            head = [f"table {number}", *draw(st.lists(NAMES, max_size=1))]
            for _ in range(draw(st.integers(1, 3)) if (array := draw(st.booleans())) else 1):
                name = self.dotted(head)
                parts += [f"[[ {name} ]]\n" if array else f"[{name}] # [a]\n", *self.body()]
                if draw(st.booleans()):
                    parts += [f"[{self.dotted([*head, 'below it'])}]\n", *self.body()]
                for _ in range(draw(st.integers(0, 2))):
                    parts += [f"[[{self.dotted([*head, 'rows below'])}]]\n", *self.body()]
        return "".join(parts)


@st.composite
def documents(draw: Any) -> str:
    """Texts that mean something, with or without a last newline."""
    return Writer(draw).document()
