"""The workloads that need SciPy's functions, apart from the others because importing SciPy takes its time."""

import numpy as np
from scipy.special import erf, logsumexp


def picked(scores, labels):
    return scores[np.arange(scores.shape[0]), labels]


def normal_cdf(x):
    return 0.5 * (1.0 + erf(x * 0.7071067811865476))


def call_prices(spot, volatility, strike, years):
    """The sum of Black-Scholes call prices at an interest rate of 5 %."""
    deviation = volatility * np.sqrt(years)
    d = (np.log(spot / strike) + (0.05 + 0.5 * volatility * volatility) * years) / deviation
    return np.sum(spot * normal_cdf(d) - strike * np.exp(-0.05 * years) * normal_cdf(d - deviation))


def cross_entropy(scores, labels):
    return np.mean(logsumexp(scores, axis=1) - picked(scores, labels))
