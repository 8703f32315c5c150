"""What a customer is about to buy."""

from shop.pricing import discounted


class Cart:
    """Items by their number."""

    def __init__(self):
        self.items = {}

    def add_item(self, item, count=1):
        self.items[item] = self.items.get(item, 0) + count

    def remove_item(self, item):
        self.items.pop(item, None)

    def total_price(self):
        """The sum of all lines, with every discount taken off."""
        return sum(discounted(item, count) for item, count in self.items.items())
