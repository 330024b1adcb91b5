"""What the tests of captures share."""

import numpy as np

from numtape.tracer.capture import Captures, instrument

X = np.arange(1.0, 5.0)


class Seen:
    """A fake recording: what it makes of a captured value is the value itself, and it notes where it was found."""

    def __init__(self):
        self.paths = []
        self.captures = Captures(self.lift, lambda array: array)

    def lift(self, path, value, label):
        self.paths.append(label)
        return value

    def run(self, function, *args):
        return instrument(function, self.captures)(*args)


def traces(function):
    return function.stats.traces
