package shop;

import java.util.List;

/**
 * What a customer wants.
 */
@Entity
@Table(name = "cart")
public class Cart<T extends Item> implements Total {
    private static final int MAX_ITEMS = 99;

    public Cart(String owner) {
        this.owner = owner;
    }

    /** Adds an item. */
    @Override
    @SuppressWarnings("unchecked")
    public int add(T item, int count) throws FullException {
        return count;
    }

    // Open or paid.
    enum State { OPEN, PAID }

    interface Listener {
        void changed(Cart cart);
    }
}

record Money(long amount, String currency) {}
