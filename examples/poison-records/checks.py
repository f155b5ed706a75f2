"""What must hold of every converted batch, whatever was set aside."""


def only_these_orders(result, inputs):
    known = {f"A{order['order']:05}" for order in inputs["orders"]}
    seen = [order["id"] for order in result]
    if len(set(seen)) < len(seen):
        return "an order stands in the result twice"
    return set(seen) <= known or f"not among the orders: {sorted(set(seen) - known)[:3]}"
