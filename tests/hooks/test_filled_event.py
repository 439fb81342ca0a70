"""Events that a client's settings filled in: every field is text."""

from __future__ import annotations

from typing import Any

import pytest

from vaultmem.hooks.filled_event import event_as_sent


@pytest.mark.parametrize(
    ("given", "event"),
    [
        ({"prompt": "", "agent_id": "", "cwd": None}, {}),
        ({"prompt": '{"a": 1}', "cwd": "true"}, {"prompt": '{"a": 1}', "cwd": "true"}),
        ({"tool_input": '{"command": "ls"}'}, {"tool_input": {"command": "ls"}}),
        ({"tool_response": ' {"stdout": ""}'}, {"tool_response": {"stdout": ""}}),
        ({"tool_response": "plain"}, {"tool_response": "plain"}),
        ({"tool_response": "{plain}"}, {"tool_response": "{plain}"}),
        ({"tool_input": "{" * 5_000}, {"tool_input": "{" * 5_000}),
        ({"is_interrupt": "false"}, {"is_interrupt": False}),
        ({"stop_hook_active": "true"}, {"stop_hook_active": True}),
        ({"tool_input": {"command": "ls"}}, {"tool_input": {"command": "ls"}}),
        ({"hook_event_name": 5, "x": ["a"]}, {"hook_event_name": 5, "x": ["a"]}),
    ],
)
def test_fields_are_what_they_were(given: dict[str, Any], event: dict[str, Any]) -> None:
    assert event_as_sent(given) == event
