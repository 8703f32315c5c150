using System;
using System.Collections.Generic;

namespace Shop.Carts;

/// <summary>What a customer wants.</summary>
/// <remarks>Not thread-safe.</remarks>
[Serializable]
public sealed class Cart<T> : ICart where T : Item
{
    private const int MaxItems = 99;
    private readonly List<T> _items = new(), _saved = new();

    /// <summary>Raised when it changes.</summary>
    public event EventHandler? Changed;

    public Cart(string owner) : base(owner)
    {
        Owner = owner;
    }

    /// <summary>Who it belongs to.</summary>
    public string Owner { get; init; }

    public int Count => _items.Count;

    public T this[int index] => _items[index];

    /// <summary>
    /// Adds an item.
    /// </summary>
    /// <param name="item">The item.</param>
    [Obsolete("use AddAll"), Pure]
    public async Task<int> AddAsync(
        T item,
        int count = 1)
    {
        int Check(int n) => n < MaxItems ? n : MaxItems;
        _items.Add(item);
        return Check(count);
    }

    public static Cart<T> operator +(Cart<T> a, Cart<T> b) => a;

    // Kept for callers of version 1.
    private enum State { Open, Paid }
}

/** Anything with a total. */
public interface ICart
{
    int Total();
}

public record struct Money(decimal Amount, string Currency);

public delegate void Paid(Cart<Item> cart);
