"""Discounts and taxes, to the cent."""

from decimal import ROUND_HALF_UP, Decimal

VAT = Decimal("0.19")
BULK_FROM = 10


def discounted(item, count):
    """The price of so many of an item: a tenth less from BULK_FROM on."""
    whole = item.price * count
    return whole * Decimal("0.9") if count >= BULK_FROM else whole


def with_tax(amount):
    """Add the value-added tax and round to cents."""
    return (amount * (1 + VAT)).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
