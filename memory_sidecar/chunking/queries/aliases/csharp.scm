; C#. `using Basket = Shop.Cart;`
(using_directive name: (identifier) @alias (identifier) @name .)
(using_directive name: (identifier) @alias
  (qualified_name qualifier: [(identifier) @module (qualified_name name: (identifier) @module)] name: (identifier) @name) .)
