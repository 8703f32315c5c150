use std::fmt;

/// What a customer wants.
#[derive(Debug, Clone)]
pub struct Cart<T> {
    items: Vec<T>,
}

impl<T: Item> Cart<T> {
    /// Adds an item.
    #[inline]
    pub fn add(&mut self, item: T) -> usize
    where
        T: Clone,
    {
        self.items.push(item);
        self.items.len()
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Ok(())
    }
}

/** Anything with a total. */
pub trait Total {
    fn total(&self) -> u64;
}

pub enum State { Open, Paid }

const MAX_ITEMS: usize = 99;

mod tests {
    #[test]
    fn adds() {}
}

macro_rules! cart {
    () => {};
}
