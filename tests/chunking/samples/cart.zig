const std = @import("std");
const Item = @import("item.zig").Item;

pub const max_items: u32 = 99;

/// What a customer wants.
pub const Cart = struct {
    items: std.ArrayList(Item),

    /// Adds an item.
    pub fn add(self: *Cart, item: Item) !usize {
        const made = item;
        try self.items.append(made);
        return 1;
    }

    const State = enum { open, paid };
};

fn List(comptime T: type) type {
    return struct {
        pub fn total(self: @This()) T {
            return self.sum;
        }
    };
}

test "adds" {}

const Io = std.Io;
pub const rates = @import("rates.zig");
