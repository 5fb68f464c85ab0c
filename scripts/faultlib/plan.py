"""Decides from a seed what happens when. Knows nothing of clocks or processes: same seed, same plan."""

import random
from dataclasses import dataclass, field

OPERATORS = ("opx", "opy", "opz")
# How long PostgreSQL's first host is silent at least, which is longer than the nodes may take (seconds).
SILENCE = 14.0
SILENT = "first host silent"
ROUTES = ("447701", "447702", "447703", "447704")
# What operators do, and how often. Shares are of the messages; times are seconds.
MOODS = {
    "refusing": (6, dict(refuse=0.9)),
    "slow": (2, dict(latency=(0.2, 1.5))),
    "silent": (2, dict(silent=0.5)),
    "throttling": (2, dict(throttle=0.3)),
    "rejecting": (1, dict(reject=0.1)),
    "late receipts": (1, dict(receipt_delay=(2.0, 8.0))),
    "early receipts": (2, dict(early=True)),
    "receipts twice": (3, dict(twice=True)),
    "receipts without a window": (1, dict(unwindowed=True, receipt_delay=(3.0, 3.0))),
    "closing": (2, dict(door="closing")),
    "refusing connections": (2, dict(door="shut")),
    "ending sessions on some messages": (4, dict(poison=True)),
}
# Kinds of faults with their weights: for every store, for one node alone, for several.
EVERYWHERE = {
    "kill": 2, "restart": 2, "freeze": 1, "clock": 2, "cut operator": 1, "cut ESMEs": 1,
    "rate": 1, "routes": 1, "operator": 1, "window": 1, "callbacks": 2,
}
ALONE = {"disk": 3, "flips": 2}
TOGETHER = {"join": 5, "leave": 2, "postgres stops": 1, "postgres dies": 1, "cut from postgres": 1, SILENT: 2, "redis": 1}


@dataclass
class Action:
    """Something that begins at `at` and, if it has a length, is undone `lasts` later (seconds)."""

    at: float
    kind: str
    lasts: float = 0.0
    node: int = 0
    arguments: dict = field(default_factory=dict)

    def __str__(self):
        said = " ".join(f"{name}={value}" for name, value in self.arguments.items())
        lasts = f" for {self.lasts} s" if self.lasts else ""
        return f"+{self.at:4.1f} s  {self.kind} node={self.node}{lasts} {said}".rstrip()


@dataclass
class Round:
    number: int
    seconds: float
    # Nodes that are away when it begins.
    away: tuple
    actions: list

    def describe(self):
        away = f", without nodes {list(self.away)}" if self.away else ""
        return [f"round {self.number}: {self.seconds:.0f} s of load{away}"] + [
            f"  {action}" for action in self.actions
        ]


def plan_round(seed, number, nodes, wanted=None):
    """The plan of one round, whatever became of those before it."""
    dice = random.Random(f"{seed}/{number}/{nodes}")
    kinds = dict(EVERYWHERE, mood=0, **(ALONE if nodes == 1 else TOGETHER))
    if wanted:
        kinds = {kind: weight for kind, weight in kinds.items() if kind in wanted}
    has_moods = kinds.pop("mood", None) is not None
    # A few kinds and moods a round: so they meet in all combinations, and often.
    chosen = {weighted(dice, kinds) for _ in range(dice.randint(1, 3)) if kinds}
    if has_moods:
        chosen.add("mood")
    weights = {name: weight for name, (weight, _) in MOODS.items()}
    moods = sorted({weighted(dice, weights) for _ in range(dice.randint(1, 3))})
    seconds = float(dice.randint(15, 30))
    away = ()
    if "join" in chosen:
        away = tuple(sorted(dice.sample(range(nodes), dice.randint(1, nodes - 1))))
    count = dice.randint(2, 7)
    order = sorted(chosen)
    picked = order + [dice.choice(order) for _ in range(count - len(order))]
    times = sorted(round(dice.uniform(2, seconds - 2), 1) for _ in picked)
    dice.shuffle(picked)
    if SILENT in picked:
        # It begins early and ends under load.
        seconds += SILENCE
        picked.insert(0, picked.pop(picked.index(SILENT)))
    actions = [draw(dice, kind, at, nodes, moods) for at, kind in zip(times, picked)]
    return Round(number, seconds, away, actions)


def weighted(dice, table):
    names = list(table)
    return dice.choices(names, [table[name] for name in names])[0]


def draw(dice, kind, at, nodes, moods):
    action = Action(at, kind, node=dice.randrange(nodes))
    if kind == "mood":
        action.lasts = round(dice.uniform(3, 15), 1)
        action.arguments = {
            "whose": dice.choice(["all", "all", *OPERATORS]), "mood": dice.choice(moods),
        }
    elif kind in ("kill", "restart", "leave"):
        action.lasts = round(dice.choice([0.1, dice.uniform(0.5, 3), dice.uniform(5, 12)]), 1)
    elif kind in ("freeze", "postgres stops", "cut from postgres"):
        action.lasts = round(dice.uniform(1, 9), 1)
    elif kind == "postgres dies":
        action.lasts = round(dice.choice([0.1, dice.uniform(5, 9)]), 1)
    elif kind == "disk":
        action.lasts = round(dice.uniform(3, 10), 1)
        # The process dies while the disk is full, or not.
        action.arguments = {"killed": dice.random() < 0.4}
    elif kind == "flips":
        # Bits of messages in the file of a store that is stopped.
        action.lasts = 0.1
        action.arguments = {"bits": dice.choice([1, 5, 40])}
    elif kind == "clock":
        jump = dice.choice([dice.randint(5, 45), dice.randint(5, 45), -dice.randint(5, 45), -3600, 3600])
        action.lasts = round(dice.uniform(2, 15), 1)
        action.arguments = {"jump": jump}
    elif kind in ("cut operator",):
        action.arguments = {"whose": dice.choice(OPERATORS)}
    elif kind == "rate":
        action.lasts = round(dice.uniform(3, 10), 1)
        action.arguments = {"whose": dice.choice(OPERATORS), "rate": dice.choice([5.0, 20.0, 100.0])}
    elif kind == "routes":
        action.lasts = round(dice.uniform(3, 10), 1)
        targets = dice.sample(OPERATORS, dice.randint(1, 3))
        action.arguments = {"route": dice.choice(ROUTES), "to": targets}
    elif kind == "operator":
        # The third one comes and goes; routes and failover need the other two.
        action.lasts = round(dice.uniform(3, 10), 1)
        action.arguments = {"whose": "opz", "removed": dice.random() < 0.5}
    elif kind == "window":
        action.lasts = round(dice.uniform(3, 10), 1)
        action.arguments = {
            "whose": dice.choice(OPERATORS), "window": dice.choice([1, 5, 40]), "binds": dice.randint(1, 3),
        }
    elif kind == "callbacks":
        # The share of callbacks that fail.
        action.lasts = round(dice.uniform(3, 15), 1)
        action.arguments = {"failing": dice.choice([0.5, 0.5, 1.0])}
    elif kind == SILENT:
        # Longer than the nodes may take to go on by the second one.
        action.lasts = round(dice.uniform(SILENCE, SILENCE + 5), 1)
    elif kind == "redis":
        action.lasts = round(dice.uniform(1, 6), 1)
        action.arguments = {"how": dice.choice(["dies", "stops", "flushed"])}
    return action
