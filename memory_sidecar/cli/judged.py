"""`memory-sidecar judged`: keeps questions with their right answers."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click
from click.core import ParameterSource

from memory_sidecar.agents.judging import JudgedQuestion, JudgedSet
from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import title
from memory_sidecar.cli.names import locate
from memory_sidecar.cli.options import command_group, with_agent_name, with_data_dir
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Asked


@command_group
def judged() -> None:
    """Questions of yours with the right answers, for `./task bench` to rank by."""


@judged.command()
@click.argument("question")
@click.argument("place")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Asked]),
    default=Asked.CODE.value,
    show_default=True,
    help="What PLACE is: the path of a file or a memory, or the id of a session.",
)
@with_data_dir
@with_agent_name
def add(call: Call, *, agent: str, question: str, place: str, kind: str) -> JudgedQuestion:
    """Note that PLACE answers QUESTION: a right hit, or one that should have been."""
    judged_set = _judged_set(call)
    asked, of = Asked(kind), agent
    if asked is Asked.CODE:
        if click.get_current_context().get_parameter_source("agent") is ParameterSource.COMMANDLINE:
            raise UsageError(
                "--agent is whose memory or session PLACE is, and this is code",
                hint="leave it out, or pass --kind memories or sessions",
            )
        of, place = locate(call, place)
    noted = judged_set.add(call.text(question), asked, of, place)
    return call.show(noted, _lines_of(noted))


@judged.command(name="list")
@with_data_dir
def list_judged(call: Call) -> list[JudgedQuestion]:
    """Show the questions, each with what answers it."""
    return _show_questions(call, _judged_set(call).all())


@judged.command()
@click.argument("question")
@click.argument("place", required=False)
@with_data_dir
def remove(call: Call, *, question: str, place: str | None) -> list[JudgedQuestion]:
    """Take back that PLACE, as `judged list` shows it, answers QUESTION; by default, every place.

    Shows the questions that are left.
    """
    left = _judged_set(call).remove(call.text(question), place)
    return _show_questions(call, left)


def _judged_set(call: Call) -> JudgedSet:
    return JudgedSet(call.services, call.reporter)


def _show_questions(call: Call, questions: list[JudgedQuestion]) -> list[JudgedQuestion]:
    shown = call.mask(questions)
    hint = "no question is judged: `memory-sidecar judged add QUESTION FILE`"
    return call.show(shown, chain.from_iterable(map(_lines_of, shown)), nothing=hint)


def _lines_of(each: JudgedQuestion) -> list[TextLine]:
    places = (f"  {Path(place).as_posix()}" for place in each.relevant)
    return [(title(each.text), f"  {each.kind} of {each.of}"), *places]
