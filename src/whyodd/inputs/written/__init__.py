"""Values as people write them: 20.6%, 1.234,50 €, 12 kg, 2:35 PM, 02.03.2026, 14:35+02:00."""

from __future__ import annotations

from whyodd.inputs.written.base import Written
from whyodd.inputs.written.durations import WrittenDuration
from whyodd.inputs.written.epochs import WrittenEpoch, epoch_convention, may_be_time
from whyodd.inputs.written.moments import WrittenMoment
from whyodd.inputs.written.numbers import WrittenNumber
from whyodd.inputs.written.recognize import Recognized, Stray, propose, recognize, settle, strays_of

__all__ = [
    "Recognized",
    "Stray",
    "Written",
    "WrittenDuration",
    "WrittenEpoch",
    "WrittenMoment",
    "WrittenNumber",
    "epoch_convention",
    "may_be_time",
    "propose",
    "recognize",
    "settle",
    "strays_of",
]
