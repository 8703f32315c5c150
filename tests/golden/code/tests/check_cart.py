from shop.cart import Cart


def check_total_price_of_two_items(apple, pear):
    cart = Cart()
    cart.add_item(apple, 2)
    cart.add_item(pear)
    assert cart.total_price() == 2 * apple.price + pear.price


def check_removing_an_item_that_is_not_there(apple):
    Cart().remove_item(apple)
