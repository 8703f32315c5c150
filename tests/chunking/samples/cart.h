#ifndef CART_H
#define CART_H

struct cart;
/* Adds an item. */
int cart_add(struct cart *cart, int count);

#endif
