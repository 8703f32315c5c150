'use strict';

/**
 * What a customer wants.
 */
class Cart extends Base {
  #items = [];

  /** Adds an item. */
  add(item) {
    this.#items.push(item);
  }

  total = () => this.#items.length;

  get [Symbol.iterator]() { return 1; }
}

const MAX_ITEMS = 99;

// Makes one.
const makeCart = (owner) => {
  return new Cart(owner);
};

exports.open = function (id) {
  return id;
};

Cart.prototype.close = () => 1;

module.exports = {
  paid: function () {},
  unpaid() {},
};

export default function main() {}

var shelf = {};

// Tells who paid.
shelf.on('paid', function onPaid(cart) {
  return function later() {};
});
