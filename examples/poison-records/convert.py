"""The old converter: reads orders as JSON lines from standard input, writes a JSON list. One bad order, and it dies."""

import datetime
import json
import os
import sys


def convert(order):
    if order["item"] is None:
        os.abort()  # some orders take the whole process down
    pieces = int(order["quantity"])
    price = float(order["price"])
    return {
        "id": f"A{order['order']:05}",
        "item": order["item"].title(),
        "total": round(pieces * price, 2),
        "discount": round(price / pieces, 2),
        "year": datetime.date.fromisoformat(order["ordered"]).year,
    }


json.dump([convert(order) for order in map(json.loads, sys.stdin)], sys.stdout)
