from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

from estimator_io.compat.journal import Journal


def test_undo_restores_attributes_and_items_and_removes_new_ones() -> None:
    journal, owner, mapping = Journal(), SimpleNamespace(old=1), {"old": 1}
    journal.set_attribute(owner, "old", 2)
    journal.set_attribute(owner, "new", 3)
    journal.set_item(mapping, "old", 2)
    journal.set_item(mapping, "new", 3)
    assert (vars(owner), mapping) == ({"old": 2, "new": 3}, {"old": 2, "new": 3})
    journal.undo()
    assert (vars(owner), mapping) == ({"old": 1}, {"old": 1})


def test_undo_restores_the_first_state_of_what_was_set_twice() -> None:
    journal, owner = Journal(), SimpleNamespace(value=1)
    journal.set_attribute(owner, "value", 2)
    journal.set_attribute(owner, "value", 3)
    journal.undo()
    assert owner.value == 1


def test_undo_leaves_what_somebody_else_set_since() -> None:
    journal, owner, mapping = Journal(), SimpleNamespace(value=1), {"key": 1}
    journal.set_attribute(owner, "value", 2)
    journal.set_item(mapping, "key", 2)
    owner.value = mapping["key"] = 5
    journal.undo()
    assert owner.value == mapping["key"] == 5


def test_a_module_is_entered_on_its_parent_and_removed_again() -> None:
    journal, parent, child = Journal(), ModuleType("parent_x"), ModuleType("parent_x.child")
    sys.modules["parent_x"] = parent
    try:
        journal.set_module("parent_x.child", child)
        assert sys.modules["parent_x.child"] is parent.child is child
        journal.undo()
        assert "parent_x.child" not in sys.modules
        assert not hasattr(parent, "child")
    finally:
        del sys.modules["parent_x"]


def test_a_second_undo_does_nothing() -> None:
    journal, calls = Journal(), []
    journal.on_undo(lambda: calls.append(1))
    journal.undo()
    journal.undo()
    assert calls == [1]
