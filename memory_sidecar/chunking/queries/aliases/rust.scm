; Rust. `use shop::cart::Cart as Basket;`
(use_as_clause path: (identifier) @name alias: (identifier) @alias)
(use_as_clause
  path: (scoped_identifier path: [(identifier) @module (scoped_identifier name: (identifier) @module)] name: (identifier) @name)
  alias: (identifier) @alias)
