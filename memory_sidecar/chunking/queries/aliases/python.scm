; Python. `import shop.money as m`, `from shop.cart import Cart as Basket`.
(aliased_import name: (dotted_name (identifier) @name .) alias: (identifier) @alias)
(import_from_statement
  module_name: [(dotted_name (identifier) @module .) (relative_import (dotted_name (identifier) @module .))]
  name: (aliased_import name: (dotted_name (identifier) @name .) alias: (identifier) @alias))
