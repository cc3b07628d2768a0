"""Reports of images, series and messages as plain dictionaries, made up."""

import base64
import math
import struct
import zlib

from made_up.reports import anomaly, frame


def images(count=3):
    """Pictures with their heatmaps."""
    return _items("images", "image", [_image_item(place) for place in range(count)])


def series(count=3, length=500):
    """Series of two channels, one with a gap."""
    return _items("series", "series", [_series_item(place, length) for place in range(count)])


def events(count=3, length=500):
    """Events of one series, and the series as a whole."""
    made = _items("events", "event", [_series_item(place, length) for place in range(count)])
    values = [math.sin(step / 9) for step in range(length)]
    return {
        **made,
        "lead": f"{count} events in 1,000 steps: they take 90 of them (9 %).",
        "scored": "step",
        "timeline": {
            "channels": [
                {"name": "outlierness", "values": [0.1 * abs(value) for value in values]},
                {"name": "vibration <b>", "values": values},
            ],
            "more": 2,
            "threshold": 0.05,
            "events": [
                {"rank": rank, "start": 0.2 * rank, "stop": 0.2 * rank + 0.03, "name": f"event {rank}"}
                for rank in range(1, count + 1)
            ],
            "labels": [f"step {10 * place}" for place in range(101)],
        },
    }


def texts(count=3):
    """Messages with marked words."""
    return _items("texts", "message", [_text_item() for _ in range(count)])


def _items(kind, noun, items):
    names = {
        "images": "tile_{}.png",
        "series": "machine {}",
        "events": "steps {} to 9",
        "texts": "message {}",
    }
    anomalies = [
        {
            **anomaly(rank, len(items)),
            "id": None,
            "name": names[kind].format(rank),
            "how_odd": None,
            "why": "51 % of the outlierness lies in one place",
            "reasons": [],
            "others": {"count": 900, "share": 0.82, "share_text": "82 %"},
            "neighbors": [],
            "similar": None,
            "context": None,
            "change": None,
            "change_missing": None,
            "rarity": None,
            "group": None,
            "item": item,
        }
        for rank, item in enumerate(items, 1)
    ]
    around = frame(kind, noun, odd=len(items), rows=400, shown=len(items))
    return {**around, "title": f"Odd {kind}", "anomalies": anomalies, "notes": []}


def png(width, height, colour_at):
    """Data URI of a picture."""
    lines = b"".join(b"\0" + b"".join(bytes(colour_at(x, y)) for x in range(width)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def _image_item(place):
    def picture(x, y):
        grey = 150 + (x * 7 + y * 13 + place) % 40
        return (40, 40, 45) if 20 < x < 28 and 10 < y < 44 else (grey, grey, grey)

    def heat(x, y):
        strength = math.exp(-((x - 24) ** 2 + (y - 27) ** 2) / 90)
        return (round(250 - 37 * strength), round(250 - 156 * strength), round(250 - 250 * strength))

    return {
        "type": "image",
        "picture": png(64, 64, picture),
        "heatmap": png(64, 64, heat),
        "width": 64,
        "height": 64,
        "caption": "64 × 64 pixels",
    }


def _series_item(place, length):
    odd = range(int(0.6 * length), int(0.68 * length))
    heat = [math.exp(-(((step - odd.start) / 30) ** 2)) for step in range(length)]
    values = [math.sin((step + place) / 9) + (2 if step in odd else 0) for step in range(length)]
    gaps = [None if 100 < step < 150 else 20 + math.cos(step / 15) for step in range(length)]
    return {
        "type": "series",
        "channels": [
            {"name": "vibration", "values": values, "relevance": heat},
            {"name": "temperature", "values": gaps, "relevance": [part / 5 for part in heat]},
        ],
        "from": "2024-05-01 00:00",
        "to": "2024-05-01 08:20",
        "caption": "one value a minute",
    }


def _text_item():
    words = [
        *("Dear", "friend,", "I", "am", "the", "widow", "of", "a", "general", "and", "need", "your"),
        *("account", "number", "today.\nBest", "regards"),
    ]
    strengths = {"widow": 0.9, "general": 0.6, "account": 1.0, "number": 0.4, "regards": -0.5}
    tokens = []
    for word in words:
        tokens += [{"text": word, "strength": strengths.get(word, 0.0)}, {"text": " ", "strength": 0.0}]
    absent = [{"term": "meeting", "share_text": "4 %"}, {"term": "project", "share_text": "3 %"}]
    return {"type": "text", "tokens": tokens, "absent": absent, "caption": "From the folder spam"}
