"""What of an agent is still being indexed: told above a view, which waits for none of it."""

from __future__ import annotations

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.results import Reporter


def is_there(agent: Agent, reporter: Reporter) -> bool:
    """Whether anything of `agent` can be shown at once. Has its files watched from now on.

    Says how far the index is where it is made for the first time. The view follows.
    """
    agent.on_use()
    known = agent.data.open()
    missing = agent.data.unseen()
    is_begun = any(known.source_state(name) for name in agent.data.states())
    passes = [live.indexing for live in agent.data.states().values() if live.indexing]
    if passes:
        done, total = sum(p.files_done for p in passes), sum(p.files_total for p in passes)
        reporter.notice(
            f"{agent.name} is being indexed, {done:,} of {total:,} files: the rest will appear here"
        )
    elif missing and not is_begun:
        reporter.notice(
            f"{agent.name} is about to be indexed: its memories and sessions will appear here"
        )
    return is_begun or not missing
