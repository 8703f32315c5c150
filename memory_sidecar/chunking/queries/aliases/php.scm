; PHP. `use Shop\Cart as Basket;`
(namespace_use_clause (qualified_name (name) @name .) alias: (name) @alias)
(namespace_use_clause . (name) @name alias: (name) @alias)
