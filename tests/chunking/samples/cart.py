"""A shopping cart."""

from dataclasses import dataclass, field

MAX_ITEMS = 99


# Prices are in cents.
@dataclass(frozen=True)
class Cart:
    """What a customer wants."""

    prices: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.prices)

    async def add(
        self,
        price: int,  # cents
        count: int = 1,
    ) -> None:
        def check() -> bool:
            return count < MAX_ITEMS

        if check():
            self.prices.extend([price] * count)


def empty() -> Cart:
    return Cart()
