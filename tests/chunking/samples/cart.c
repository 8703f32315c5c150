#include <stdio.h>

#define MAX_ITEMS 99
#define PRICE(x) ((x) * 2)

/* What a customer wants. */
struct cart {
    int count;
};

typedef struct {
    long amount;
} money;

enum state { OPEN, PAID };

int cart_total(const struct cart *cart);

/**
 * Adds an item.
 */
static int cart_add(struct cart *cart,
                    int count)
{
    return cart->count += count;
}

// Makes one.
struct cart *cart_new(void)
{
    return 0;
}
