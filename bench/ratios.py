"""Measurements in turns, and the ratios of neighbouring ones with the interval that their median has.

What slows a machine down comes and goes within minutes. Of many short turns each ratio is of one moment, and their median
is told with its interval, which takes no distribution for granted: order statistics, 95 %."""

import math
import statistics


def in_turns(cases, rounds, measure):
    """What `measure` says of each case, round by round: a dictionary each. The order turns."""
    cases = list(cases)
    for number in range(rounds):
        turn = number % len(cases)
        yield {case: measure(case) for case in cases[turn:] + cases[:turn]}


def interval(values):
    """The 95 % interval of the median; all that was found if there are fewer than six values."""
    ordered = sorted(values)
    below = math.floor(len(ordered) / 2 - 0.98 * math.sqrt(len(ordered)))
    return (ordered[0], ordered[-1]) if below < 1 else (ordered[below - 1], ordered[-below])


def described(values):
    """A median with its interval, as it is printed."""
    low, high = interval(values)
    return f"{statistics.median(values):.3f} ({low:.3f} to {high:.3f})"
