"""Edits that mend findings, made on a concrete syntax tree so that comments and layout stay.

LibCST is needed here alone: `pip install 'estimator-io[lint]'`.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from estimator_io.lint.finding import Edit, Finding, Span
from estimator_io.lint.linter import Report, lint_text
from estimator_io.lint.settings import Settings

__all__ = ["Fixed", "apply_edits", "fix_text"]

_MOST_ROUNDS = 40


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    """What became of a text.

    Attributes:
      text: the source with the edits made.
      count: findings that were mended.
      report: what is left.
    """

    text: str
    count: int
    report: Report


def fix_text(text: str, path: str, settings: Settings, unsafe: bool = False) -> Fixed:
    """Mends what can be mended, until nothing more is found.

    Args:
      text: the source.
      path: the name to report it under.
      settings: what to leave out.
      unsafe: whether to make edits too that change which elements come, or their order.
    """
    count = 0
    report = lint_text(text, path, settings)
    given_up: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        wanted = _mendable(report, unsafe)
        code = next((f.code for f in wanted if f.code not in given_up), None)
        if code is None:
            break
        edits = {edit for f in wanted if f.code == code and f.fix for edit in f.fix.edits}
        try:
            changed = apply_edits(text, edits)
        except cst.ParserSyntaxError:  # Python may know syntax that LibCST does not yet
            break
        after = lint_text(changed, path, settings)
        before, left = _by_code(wanted), _by_code(_mendable(after, unsafe))
        # Never leave a file behind that Python cannot read, nor an edit that mends nothing.
        if changed == text or after.error or left[code] >= before[code]:
            given_up.add(code)
            continue
        text, report, count = changed, after, count + (before - left).total()
    return Fixed(text, count, report)


def _mendable(report: Report, unsafe: bool) -> list[Finding]:
    return [f for f in report.findings if f.fix is not None and (f.fix.safe or unsafe)]


def _by_code(findings: Iterable[Finding]) -> collections.Counter[str]:
    return collections.Counter(finding.code for finding in findings)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Returns source code with some edits made.

    Raises:
      libcst.ParserSyntaxError: the source does not parse.
    """
    by_span: dict[Span, list[Edit]] = {}
    for edit in sorted(set(edits), key=lambda e: (e.kind, e.name, e.value)):
        by_span.setdefault(edit.span, []).append(edit)
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    return wrapper.visit(_Editor(by_span)).code


class _Editor(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, edits: dict[Span, list[Edit]]) -> None:
        super().__init__()
        self._edits = edits

    def _at(self, node: cst.CSTNode, *kinds: str) -> list[Edit]:
        where = self.get_metadata(PositionProvider, node)
        if not isinstance(where, CodeRange):
            return []
        start, end = where.start, where.end
        span = Span(start.line, start.column, end.line, end.column)
        return [edit for edit in self._edits.get(span, ()) if edit.kind in kinds]

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        if isinstance(original_node, cst.BaseExpression):
            for edit in self._at(original_node, "replace"):
                return cst.ensure_type(cst.parse_expression(edit.value), cst.BaseExpression)  # type: ignore[return-value]
        return super().on_leave(original_node, updated_node)

    def leave_Call(  # noqa: N802 (LibCST looks it up by this name)
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        for edit in self._at(original_node, "argument"):
            updated_node = _with_argument(updated_node, edit.name, edit.value)
        result: cst.BaseExpression = updated_node
        for edit in self._at(original_node, "append"):
            result = _with_method(result, edit.name, edit.value)
        return result

    def leave_Expr(  # noqa: N802 (LibCST looks it up by this name)
        self, original_node: cst.Expr, updated_node: cst.Expr
    ) -> cst.BaseSmallStatement:
        for edit in self._at(original_node.value, "assign"):
            target = cst.AssignTarget(cst.Name(edit.name))
            return cst.Assign([target], updated_node.value, semicolon=updated_node.semicolon)
        return updated_node


def _with_argument(call: cst.Call, name: str, value: str) -> cst.Call:
    """Sets a keyword: in its place where it is there, behind the others where it is not."""
    expression = cst.parse_expression(value)
    arguments = list(call.args)
    for number, argument in enumerate(arguments):
        if argument.keyword is not None and argument.keyword.value == name:
            arguments[number] = argument.with_changes(value=expression)
            return call.with_changes(args=arguments)
    new = cst.Arg(
        expression,
        keyword=cst.Name(name),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if arguments:
        last = arguments[-1]
        between, behind = _commas(call, last.comma)
        new = new.with_changes(comma=behind, whitespace_after_arg=last.whitespace_after_arg)
        arguments[-1] = last.with_changes(
            comma=between, whitespace_after_arg=cst.SimpleWhitespace("")
        )
    return call.with_changes(args=[*arguments, new])


def _commas(
    call: cst.Call, last: cst.Comma | cst.MaybeSentinel
) -> tuple[cst.Comma, cst.Comma | cst.MaybeSentinel]:
    """Returns the comma behind the argument that was the last, and the one behind the new one."""
    between = _comma_before_another(call)
    if not isinstance(last, cst.Comma):
        return between, last
    space = last.whitespace_after
    if isinstance(space, cst.ParenthesizedWhitespace):
        inside = between.whitespace_after
        if isinstance(inside, cst.ParenthesizedWhitespace):  # its comment stays with the argument
            inside = inside.with_changes(first_line=space.first_line)
            between = between.with_changes(whitespace_after=inside)
        return between, last.with_changes(whitespace_after=_without_comment(space))
    return between, last


def _comma_before_another(call: cst.Call) -> cst.Comma:
    """Returns the comma that the others are followed by: on lines of their own, or in one line."""
    if len(call.args) > 1 and isinstance(call.args[0].comma, cst.Comma):
        return call.args[0].comma.with_changes(
            whitespace_after=_without_comment(call.args[0].comma.whitespace_after)
        )
    if isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace):
        return cst.Comma(whitespace_after=_without_comment(call.whitespace_before_args))
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def _without_comment(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    if isinstance(space, cst.ParenthesizedWhitespace):
        line = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        return space.with_changes(first_line=line, empty_lines=())
    return space


def _with_method(value: cst.BaseExpression, method: str, argument: str) -> cst.Call:
    """Calls a method on an expression, inside the parentheses that it stands in."""
    return cst.Call(
        cst.Attribute(value.with_changes(lpar=[], rpar=[]), cst.Name(method)),
        [cst.Arg(cst.parse_expression(argument))],
        lpar=value.lpar,
        rpar=value.rpar,
    )
