"""How a study was carried out, as its event chain and its calls show it: what a methodology stamp rests
on."""

from collections.abc import Sequence
from dataclasses import dataclass

from gridc.runtime.store.events import Event, InterimLook, RunStarted, Stamped


@dataclass(frozen=True, slots=True)
class Conduct:
    """`stamped` and `started` are the numbers of the events that recorded the lock and the first run;
    None where there is none. `looks` are the interim looks: reports of an unfinished run. `observed` are
    the departures from the plan that the run saw, a sentence each."""

    stamped: int | None = None
    started: int | None = None
    looks: tuple[int, ...] = ()
    observed: tuple[str, ...] = ()


UNKNOWN = Conduct()


def conduct(events: Sequence[Event], stamp: str, observed: Sequence[str]) -> Conduct:
    """What the events of one study say. A later report of the finished run changes none of it."""
    mine = [event for event in events if event.body.stamp == stamp]
    return Conduct(
        stamped=next((event.seq for event in mine if isinstance(event.body, Stamped)), None),
        started=next((event.seq for event in mine if isinstance(event.body, RunStarted)), None),
        looks=tuple(event.seq for event in mine if event.kind == InterimLook.kind),
        observed=tuple(observed),
    )
