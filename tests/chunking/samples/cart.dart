import 'dart:async';
import 'package:shop/item.dart';

part 'cart.g.dart';

/// As many as fit.
const int maxItems = 99;
final _log = Logger('cart');
typedef Filter = bool Function(Item item);
typedef int Compare(Item a, Item b);

/// What a customer wants.
@immutable
abstract class Cart<T extends Item> extends Base with Totals implements Comparable<Cart> {
  static const empty = 0;
  final List<T> items;
  int _count = 0, _sold = 1;

  Cart(this.items);
  const Cart.of(this.items) : _count = 1;
  const factory Cart.made() = _Made;
  factory Cart.fromJson(Map<String, dynamic> json) => _$CartFromJson(json);

  int get total => items.length;
  set total(int value) {
    _count = value;
  }

  /// Adds an item.
  @override
  Future<void> add(T item, {int count = 1}) async {
    void again() => add(item);
    again();
  }

  void clear();

  bool operator ==(Object other) => other is Cart;
}

mixin Totals on Base {
  int sum() => 1;
}

// Printing.
extension ListExt on List<Item> {
  String describe() => '';
}

extension type Money(int cents) {
  int rounded() => cents;
}

enum State {
  open,
  paid;

  bool get isOpen => this == open;
}

int round(int price) {
  return price;
}

String get title => 'Shop';
