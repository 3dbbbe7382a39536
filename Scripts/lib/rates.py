"""Whether bytes keep to a rate: counted in any ten seconds, without the first second."""

import bisect

from harness import MIB

WINDOW = 10.0  # seconds
LEFT_OUT = 1.0
TOLERANCE = 0.02


def windows(samples):
    """Bytes in the ten seconds from each sample on, once the first second is over. A sample is
    (time, bytes until then)."""
    times = [instant for instant, _ in samples]
    counts = []
    for index in range(bisect.bisect_left(times, times[0] + LEFT_OUT), len(samples)):
        end = times[index] + WINDOW
        if end > times[-1]:
            break
        after = bisect.bisect_left(times, end)
        (t0, b0), (t1, b1) = samples[after - 1], samples[after]
        at_end = b0 + (b1 - b0) * (end - t0) / (t1 - t0)
        counts.append(at_end - samples[index][1])
    return counts


def judged(counts, rate):
    """(in words, whether all are within the tolerance) of windows at so many bytes per second."""
    wanted = rate * WINDOW
    least, most = min(counts), max(counts)
    text = (f"{least / MIB:.3f} to {most / MIB:.3f} MiB, wanted {wanted / MIB:.0f} MiB "
            f"({(least / wanted - 1) * 100:+.2f} % to {(most / wanted - 1) * 100:+.2f} %)")
    return text, wanted * (1 - TOLERANCE) <= least and most <= wanted * (1 + TOLERANCE)
