"""Reads chats from the exports of ChatGPT and Claude in the browser, `conversations.json`. Pure.

ChatGPT has a tree of messages in `mapping`, since a question may be asked again: the branch shown
last ends in `current_node`. Claude has a list, `chat_messages`. Both become lines of a transcript.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_sidecar.sessions.documents import SESSION_ID, short_hash
from memory_sidecar.sessions.transcript_lines import as_text

_ID_KEYS = ("conversation_id", "id", "uuid")  # old exports of ChatGPT have only the second
_SPOKEN = frozenset({"text", "multimodal_text"})  # other contents are tool calls and thoughts

Fields = Mapping[str, Any]


def is_chat(item: object) -> bool:
    """Whether `item`, a value of a file's JSON, is a chat of ChatGPT or Claude."""
    return isinstance(item, dict) and (
        isinstance(item.get("mapping"), dict) or isinstance(item.get("chat_messages"), list)
    )


def chat_lines(chat: Fields) -> list[dict[str, Any]]:
    """Return lines of a transcript, each with the id of the session: the title, then messages."""
    title = as_text(chat.get("title")) or as_text(chat.get("name"))
    named = (as_text(chat.get(key)) for key in _ID_KEYS)
    session = next(filter(SESSION_ID.fullmatch, named), "")
    lines = [{"type": "custom-title", "customTitle": title}]
    if isinstance(chat.get("mapping"), dict):
        lines += [_chatgpt_line(each) for each in _shown_messages(chat)]
    else:
        lines += [_claude_line(each) for each in chat["chat_messages"] if isinstance(each, dict)]
    if lines[1:] and not session:
        session = short_hash(lines[1])  # without an id it would continue the chat before it
    return [{"sessionId": session, **line} for line in lines]


def _shown_messages(chat: Fields) -> list[Fields]:
    """Return the messages from the root of the tree to the node that was shown last."""
    nodes = dict(chat["mapping"])
    shown: list[Fields] = []
    at = as_text(chat.get("current_node")) or next(reversed(nodes), None)
    while isinstance(node := nodes.pop(at, None), dict):  # a cycle ends at a node taken out before
        if isinstance(message := node.get("message"), dict):
            shown.append(message)
        at = as_text(node.get("parent"))
    return shown[::-1]


def _chatgpt_line(message: Fields) -> dict[str, Any]:
    author, content = _fields(message, "author"), _fields(message, "content")
    is_for_tool = message.get("recipient", "all") != "all"
    is_spoken = as_text(content.get("content_type")) in _SPOKEN and not is_for_tool
    return {
        "id": message.get("id"),
        "role": author.get("role"),
        "content": content.get("parts") if is_spoken else "",
        "created_at": message.get("create_time"),
    }


def _claude_line(message: Fields) -> dict[str, Any]:
    return {
        "id": message.get("uuid"),
        "role": message.get("sender"),
        "content": message.get("content") or message.get("text"),
        "created_at": message.get("created_at"),
    }


def _fields(within: Fields, name: str) -> Fields:
    found = within.get(name)
    return found if isinstance(found, dict) else {}
