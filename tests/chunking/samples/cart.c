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

typedef struct line {
    money price;
} line;

typedef struct _shop {
    int lines;
} shop, *shop_ref;

typedef int (*compare)(const void *left, const void *right);

enum state { OPEN, PAID };

extern shop *shops[MAX_ITEMS];
static compare by_price = 0;
int (*by_name)(const line *left, const line *right);

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
    struct cart *made = 0;
#ifdef SHOP
    int kept;
#endif
    return made;
}

/* Puts a line at the end. */
#define PUSH(lines, count, line) \
    do {                         \
        (lines)[(count)++] = (line); \
    } while (0)
