"""Asking the client's own model for prose, where the client offers that.

It is offered in two ways. Before 2026 the server asks while it works, and does not wait long.
Since then a call is answered with what is wanted; the client calls again and brings it along.
Nothing depends on it: without an answer the memories quote their sources.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import is_version_at_least
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from vaultmem.upkeep.consolidation.consolidate import ProseWanted

log = logging.getLogger("vaultmem")

SECONDS: Final = 20.0  # for all that is asked in one call
MOST_TOKENS: Final = 400
LATE: Final = "prose_missing: the client's model did not answer in time; the sources are quoted"
_CARRIED: Final = "2026-07-28"  # from then on the wish is carried by the call itself
_ASKED: Final = "prose"  # the state of a call that comes again


def is_sampling_offered(ctx: ServerRequestContext[Any, Any]) -> bool:
    offered = ctx.session.client_capabilities
    asks = _is_sample_in_request(ctx) or ctx.session.can_send_request
    return offered is not None and offered.sampling is not None and asks


def brought_samples(params: types.CallToolRequestParams) -> dict[str, str] | None:
    """What a call that comes again brings along; None for one that comes the first time."""
    if params.request_state != _ASKED:
        return None
    answers = (params.input_responses or {}).items()
    return {key: text for key, answer in answers if (text := _text_of_sample(answer))}


async def ask_for_prose(
    ctx: ServerRequestContext[Any, Any], wanted: Sequence[ProseWanted]
) -> Mapping[str, str] | types.InputRequiredResult:
    """The client's prose by key, as far as it came in time; or the wish to give as an answer."""
    asked = {each.key: _sampling_request(each) for each in wanted}
    if _is_sample_in_request(ctx):
        return types.InputRequiredResult(input_requests={**asked}, request_state=_ASKED)
    told: dict[str, str] = {}
    with anyio.move_on_after(SECONDS):
        for key, request in asked.items():
            told[key] = await _sampled_text(ctx, request)
    return told


async def _sampled_text(
    ctx: ServerRequestContext[Any, Any], request: types.CreateMessageRequest
) -> str:
    try:
        return _text_of_sample(
            await ctx.session.send_request(
                request,
                types.CreateMessageResult,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
        )
    except (MCPError, ValidationError) as error:  # declined, or no answer to what was asked
        log.debug("the client gave no prose: %s", error)
        return ""


def _is_sample_in_request(ctx: ServerRequestContext[Any, Any]) -> bool:
    return is_version_at_least(ctx.protocol_version, _CARRIED)


def _sampling_request(wanted: ProseWanted) -> types.CreateMessageRequest:
    said = types.TextContent(type="text", text=wanted.text)
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=said)],
            system_prompt=wanted.instructions,
            max_tokens=MOST_TOKENS,
        )
    )


def _text_of_sample(answer: object) -> str:
    content = getattr(answer, "content", None)
    return content.text if isinstance(content, types.TextContent) else ""
