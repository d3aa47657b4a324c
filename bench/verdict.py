"""From the ratios of the rounds to a verdict.

The method: within each round a server's CPU time per request is divided by Salver's of the same
round, so that what slows the whole machine for a while cancels out. The mean of the ratios'
logarithms gets a 95 % interval by Student's t. If the interval lies above 1 the server is dearer,
below 1 cheaper, and if it holds 1 the two are the same within the noise.
"""

import math
import statistics

# Two-sided 95 % points of Student's t by degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
           2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045]
NORMAL = 1.960

CHEAPER, SAME, DEARER = "cheaper", "same within the noise", "dearer"
UNJUDGED = "not judged: one round"


def interval(ratios):
    """The 95 % interval of the ratios' geometric mean, or None where there are fewer than two."""
    if len(ratios) < 2:
        return None
    logarithms = [math.log(ratio) for ratio in ratios]
    freedom = len(ratios) - 1
    factor = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NORMAL
    middle = statistics.fmean(logarithms)
    reach = factor * statistics.stdev(logarithms) / math.sqrt(len(ratios))
    return math.exp(middle - reach), math.exp(middle + reach)


def verdict(ratios):
    """What the ratios of a server to Salver say about the server."""
    bounds = interval(ratios)
    if bounds is None:
        return UNJUDGED
    if bounds[0] > 1:
        return DEARER
    if bounds[1] < 1:
        return CHEAPER
    return SAME
