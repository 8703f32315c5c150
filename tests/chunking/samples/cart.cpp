#include <vector>

namespace shop::carts {

/// What a customer wants.
template <typename T>
class Cart : public Base {
 public:
  explicit Cart(std::string owner);
  ~Cart() = default;

  /// Adds an item.
  int add(const T& item, int count = 1);

  int size() const { return 0; }

  bool operator==(const Cart& other) const { return true; }
};

struct Money {
  long amount;
};

enum class State { Open, Paid };

using Carts = std::vector<Cart<int>>;

// Adds, out of line.
int Cart::add(const Item& item, int count) {
  return count;
}

std::string& name() {
  return *new std::string;
}

template <typename T>
T twice(T value) {
  return value * 2;
}

}  // namespace shop::carts

int main() { return 0; }

// What other libraries see.
class SHOP_API Shelf {
  virtual int size() const = 0;
};
