"""One user floods the service while others change and tighten: nobody is locked out."""

import asyncio
import os
import random

from bench.flood import ARMS, BACKLOG_S, FLOODER, RATIO, SETTINGS, THIRD, Seen, Times, crowd, serving, share, trial
from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures
from tests.campaigns.places import folders

KINDS = ("write", "read", "unknown", "history")
RATES = (2_400, 4_400)
LONG, SHORT = Times(12.0), Times(2.0, quiet=1.0, after=1.0, patience=120.0)
FLOOR_MS = 1_000.0
"""Below it a p99 is not called wrong, whatever it was in the quiet time: other programs may disturb a trial."""
RATE, BURST = 2.0, 20.0
"""What the user is granted that floods in the short trial: less than any machine lets it send, and the service do."""
_GRANTED = f'{SETTINGS}[clients.{FLOODER}]\nrights = ["write"]\nrate = {RATE}\nburst = {BURST}\n'


def _judge(what: str, seen: Seen, figures: Figures) -> None:
    """What others got, and what the flood did not, however fast the machine is."""
    figures.expect(not seen.unanswered, f"{what}: {seen.unanswered} requests of others without a reply")
    figures.expect(not seen.refused, f"{what}: others were refused: {seen.refused[:3]}")
    figures.expect(not seen.not_tightened, f"{what}: no tightening: {seen.not_tightened[:3]}")
    figures.trials += 1
    figures.count("sent in floods", seen.sent)
    figures.count("requests of others", len(seen.flooded))
    figures.count("tightenings of another user", seen.tightened[THIRD])
    figures.count("tightenings of the flooder", seen.tightened[FLOODER])
    figures.numbers.setdefault("p99 ratios", []).append(round(seen.ratio, 2))


def _judge_times(what: str, seen: Seen, figures: Figures) -> None:
    """How much later others were answered: on a machine that does nothing else."""
    quiet_ms, flooded_ms = share(seen.quiet, 0.99), share(seen.flooded, 0.99)
    most_ms = max(RATIO * quiet_ms, FLOOR_MS)
    figures.expect(flooded_ms <= most_ms, f"{what}: p99 of others {flooded_ms:.0f} ms, {quiet_ms:.0f} ms when quiet")
    figures.expect(seen.backlog_s <= BACKLOG_S, f"{what}: felt {seen.backlog_s:.1f} s after its end")


def _judge_grant(what: str, seen: Seen, figures: Figures) -> None:
    """The flood, of what cannot tighten, got what its user is granted."""
    most = BURST + RATE * seen.counted_s
    figures.expect(seen.accepted <= most, f"{what}: {seen.accepted} accepted, {most:.0f} granted, {seen.sent} sent")
    figures.count("accepted of floods", seen.accepted)


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many floods; see `CAMPAIGNS`. A single one is short, and judged by what was answered, not by when."""
    figures = Figures()
    dice = random.Random(seed)  # noqa: S311 - a seeded schedule, no secret
    module = "tests.campaigns.defects" if defect else "armbroker"
    environment = {**os.environ, VARIABLE: defect} if defect else None
    for number, folder in folders(trials):
        kind = "read" if trials == 1 else "write" if defect else KINDS[number % len(KINDS)]
        rate = 2 * RATES[-1] if defect else dice.choice(RATES)
        settings = _GRANTED if trials == 1 else ""
        with serving(folder, module=module, environment=environment, settings=settings) as place:
            seen = asyncio.run(trial(place.port, kind, rate, LONG if trials > 1 else SHORT, "t"))
            missed = [] if defect or trials == 1 else asyncio.run(crowd(place.port, f"sim-{ARMS - 1:04d}"))
        what = f"{kind} at {rate}/s"
        _judge(what, seen, figures)
        (_judge_grant if trials == 1 else _judge_times)(what, seen, figures)
        figures.expect(not missed, f"a full queue: {missed}")
    return figures
