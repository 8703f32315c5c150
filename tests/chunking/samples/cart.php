<?php

namespace Shop\Carts;

use Shop\Item;

/**
 * What a customer wants.
 */
#[Entity]
final class Cart extends Base implements Total
{
    const MAX_ITEMS = 99;
    private array $items = [];

    /** Adds an item. */
    #[Pure]
    public function add(Item $item, int $count = 1): int
    {
        return $count;
    }
}

interface Total
{
    public function total(): int;
}

trait Named {
    function name() { return ''; }
}

enum State: string { case Open = 'open'; }

// Makes one.
function make_cart(string $owner): Cart {
    return new Cart();
}
