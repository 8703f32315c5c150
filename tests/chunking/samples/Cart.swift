import Foundation

let maxItems = 99

/// What a customer wants.
@available(iOS 15, *)
public final class Cart<T: Item>: Total {
    private var items: [T] = []

    init(owner: String) {
        self.owner = owner
    }

    /// Adds an item.
    @discardableResult
    public func add(_ item: T, count: Int = 1) async throws -> Int {
        return count
    }
}

protocol Total {
    func total() -> Int
}

struct Money {
    let amount: Int
}

enum State { case open, paid }

/* Printing. */
extension Money: CustomStringConvertible {
    func describe() -> String { "" }
}

typealias Carts = [Cart<Item>]
