"""Takes money from a card, once."""

import hashlib


class Declined(Exception):
    """The bank said no."""


def charge_card(card, amount, *, bank):
    """Charge the card, or raise Declined. The same order is never charged twice."""
    key = idempotency_key(card.number, amount)
    response = bank.post("/charge", card=card.number, amount=amount, key=key)
    if response.status == 402:
        raise Declined(response.reason)
    return response.receipt


def refund(receipt, *, bank):
    """Give the money back."""
    return bank.post("/refund", receipt=receipt.number).status == 200


def idempotency_key(number, amount):
    return hashlib.sha256(f"{number}:{amount}".encode()).hexdigest()
