"""The course of a download, from the events of --json."""


def curve(events):
    """(seconds since the first event, bytes there), the end included."""
    if not events:
        return []
    began = events[0]["time"]
    points = [(event["time"] - began, event["bytes"]) for event in events
              if event["type"] in ("progress", "finished") and event["bytes"]]
    # The last progress may be reported after the last byte; the time of the first report of a length counts.
    rising, most = [(0.0, 0)], 0
    for instant, count in points:
        if count > most:
            rising.append((instant, count))
            most = count
    return rising


def time_at(points, count):
    """When this many bytes had arrived, interpolated between two points."""
    for (t0, b0), (t1, b1) in zip(points, points[1:]):
        if b1 >= count:
            return t0 + (t1 - t0) * (count - b0) / (b1 - b0)
    return None


def tail_share(points, length, tail=0.05):
    """The share of the time that the last bytes took."""
    begins, ends = time_at(points, length * (1 - tail)), time_at(points, length)
    if begins is None or not ends:
        return None
    return (ends - begins) / ends


def rate(points, length):
    """The average rate, in MiB per second."""
    ends = time_at(points, length)
    return length / ends / (1 << 20) if ends else None
