"""The small changes that tools/mutate.py makes to a source.

Operators:
- compare: `<` to `<=` and `>=`, `==` to `!=`, `is` to `is not`, `in` to `not in`, and the reverse
- arithmetic: `+` to `-`, `*` to `/`, `//` to `/`, `**` and `%` to `*`, `&` to `|`, and the reverse, also in `+=`
- boolean: `and` to `or` and the reverse; one operand left out; `not x`, `-x` and `~x` to `x`
- constant: a number plus and minus 1 (a fraction: doubled and halved), True to False and the reverse
- call: `min` to `max`, `any` to `all`, `argmin` to `argmax`, `floor` to `ceil`, and the reverse; a keyword left out
- control: the condition of `if` and `while` negated, the branches of a conditional expression exchanged, the condition
  of a comprehension left out
- slice: a lower or upper bound or a step left out
- statement: `return x` to `return None`; an expression, an augmented or an item assignment left out

Annotations, docstrings, type aliases, formatted messages and the keywords in KEPT_KEYWORDS are not mutated.
"""

import ast
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# fmt: off
COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}
# fmt: on
_PAIRS = (("min", "max"), ("any", "all"), ("minimum", "maximum"), ("argmin", "argmax"), ("floor", "ceil"))
CALLS = {call: replacement for pair in _PAIRS for call, replacement in (pair, pair[::-1])}
KEPT_KEYWORDS = {"strict", "frozen", "slots", "kw_only", "maxsize"}  # without them nothing else is computed
Setter = Callable[[Any], None]


@dataclass(frozen=True)
class Mutant:
    """A changed module: its path relative to the root, the changed line, the operator, and the whole new source."""

    path: Path
    line: int
    operator: str
    source: str
    change: str


def mutants(source: str, path: Path) -> list[Mutant]:
    """Return every mutant of a module's source, in the order of the source."""
    tree = ast.parse(source)
    whole, result = [ast.unparse(statement) for statement in tree.body], []
    for node, replace_node, index in _nodes(tree):
        for operator, new in _replacements(node):
            replace_node(new)
            text = ast.unparse(ast.fix_missing_locations(tree.body[index]))  # of all statements one is another
            replace_node(node)
            if text != whole[index]:
                line = getattr(getattr(node, "target", node), "lineno", 0)
                changed = "\n".join([*whole[:index], text, *whole[index + 1 :]]) + "\n"
                result.append(Mutant(path, line, operator, changed, _difference(whole[index], text)))
    return sorted(result, key=lambda mutant: mutant.line)


def _difference(before: str, after: str) -> str:
    sides = before.splitlines(), after.splitlines()
    start, end = (_common(*(side[::step] for side in sides)) for step in (1, -1))
    end = min(end, min(map(len, sides)) - start)
    return "\n".join(
        f"{sign}{line}" for sign, side in zip("-+", sides, strict=True) for line in side[start : len(side) - end]
    )


def _common(left: list[str], right: list[str]) -> int:
    """How many lines are the same before the first that is not."""
    return next(
        (index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, Setter, int]]:
    """Yield every node of a module that may be mutated, what puts another in its place, and its statement's index."""
    for index, statement in enumerate(tree.body):
        if not _left_alone(statement, tree):
            yield statement, _setter(tree.body, index), index
            yield from ((node, replace_node, index) for node, replace_node in _below(statement))


def _below(node: ast.AST) -> Iterator[tuple[ast.AST, Setter]]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not _left_alone(child, node):
                yield child, _setter(value, index) if isinstance(value, list) else _setter(node, name)
                yield from _below(child)


def _setter(target: Any, key: Any) -> Setter:
    return lambda new: target.__setitem__(key, new) if isinstance(target, list) else setattr(target, key, new)


def _left_alone(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(node, ast.Assign) and isinstance(parent, ast.Module) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        return name[0].isupper() and not name.isupper()  # a type alias
    if isinstance(node, ast.keyword):
        return node.arg in KEPT_KEYWORDS
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)


def _changed(node: ast.AST, **fields: Any) -> ast.AST:
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield each operator that applies to a node, and the node that it makes of it."""
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                for other in COMPARE[type(op)]:
                    yield "compare", _changed(node, ops=[*ops[:index], other(), *ops[index + 1 :]])
        case ast.BinOp(op=operation) | ast.AugAssign(op=operation) if type(operation) in ARITHMETIC:
            yield "arithmetic", _changed(node, op=ARITHMETIC[type(operation)]())
        case ast.BoolOp(op=operation, values=values):
            yield "boolean", _changed(node, op=ast.Or() if isinstance(operation, ast.And) else ast.And())
            for index in range(len(values)):
                yield "boolean", _changed(node, values=values[:index] + values[index + 1 :])
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            if not isinstance(operand, ast.Constant):
                yield "boolean", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            fraction = isinstance(value, float) and abs(value) < 1
            yield from (
                ("constant", ast.Constant(v)) for v in ([value * 2, value / 2] if fraction else [value + 1, value - 1])
            )
        case ast.Call():
            yield from _calls(node)
        case ast.Slice():
            yield from (("slice", _changed(node, **{part: None})) for part in ("lower", "upper", "step"))
        case ast.IfExp(body=body, orelse=orelse):
            yield "control", _changed(node, body=orelse, orelse=body)
        case ast.If(test=test) | ast.While(test=test):
            yield "control", _changed(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=[_, *_]):
            yield "control", _changed(node, ifs=[])
        case ast.Return(value=ast.expr()):
            yield "statement", _changed(node, value=ast.Constant(None))
    if isinstance(node, ast.Expr | ast.AugAssign) or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    ):
        yield "statement", ast.Pass()


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    match node.func:
        case ast.Name(id=name) if name in CALLS:
            yield "call", _changed(node, func=ast.Name(CALLS[name], ast.Load()))
        case ast.Attribute(attr=name) if name in CALLS:
            yield "call", _changed(node, func=_changed(node.func, attr=CALLS[name]))
    for index, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg not in KEPT_KEYWORDS:
            yield "call", _changed(node, keywords=node.keywords[:index] + node.keywords[index + 1 :])
