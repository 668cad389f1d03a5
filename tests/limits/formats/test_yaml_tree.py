import pytest

from limits.errors import LimitsError
from limits.formats.yaml_tree import MAX_CHARACTERS, MAX_DEPTH, MappingNode, ScalarNode, SequenceNode, parse_yaml


def test_a_tree_keeps_text_quotes_lines_and_doubles() -> None:
    root = parse_yaml("a: 1\nb: ['x', \"2\", z, !!str 3]\na: |\n  1\n")
    assert isinstance(root, MappingNode)
    assert root.pairs == [
        (ScalarNode("a", quoted=False, line=1), ScalarNode("1", quoted=False, line=1)),
        (
            ScalarNode("b", quoted=False, line=2),
            SequenceNode(
                [
                    ScalarNode("x", quoted=True, line=2),
                    ScalarNode("2", quoted=True, line=2),
                    ScalarNode("z", quoted=False, line=2),
                    ScalarNode("3", quoted=True, line=2),
                ],
                2,
            ),
        ),
        (ScalarNode("a", quoted=False, line=3), ScalarNode("1\n", quoted=False, line=3)),
    ]


def test_angles_keep_their_tag() -> None:
    root = parse_yaml("a: !degrees '90'\nb: [!radians pi]\n")
    assert isinstance(root, MappingNode)
    assert [value for _, value in root.pairs] == [
        ScalarNode("90", quoted=False, line=1, unit="!degrees"),
        SequenceNode([ScalarNode("pi", quoted=False, line=2, unit="!radians")], 2),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "not well-formed YAML"),
        ("a: \x00", "not well-formed YAML"),
        ("", "must hold one document"),
        ("a: 1\n---\nb: 2\n", "must hold one document"),
        ("a: &x 1\nb: *x\n", "f.yaml, line 2: an alias is not read"),
        ("a: !!python/object/apply:os.system ['true']\n", "line 1: this tag is not read"),
        ("a: !!python/name:os.system x\n", "line 1: this tag is not read"),
        ("!!set {a: 1}\n", "line 1: this tag is not read"),
        ("a: !gradians 5\n", r"this tag is not read \(got '!gradians'\)"),
        ("!degrees 5: 1\n", "a key is a word"),
        ("a: !!float 5\n", "this tag is not read"),
        ("a: [[1]]\n", "a list holds scalars only"),
        ("? [a]\n: 1\n", "a key is a word"),
        ("'': 1\n", "a key is a word"),
        ("a: " * 1 + "{a: " * (MAX_DEPTH + 1) + "}" * (MAX_DEPTH + 1), "is nested too deeply"),
        ("a" * (MAX_CHARACTERS + 1), "the document is too long"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(LimitsError, match=message):
        parse_yaml(text, "f.yaml")
