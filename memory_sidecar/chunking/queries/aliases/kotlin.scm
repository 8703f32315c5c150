; Kotlin. `import shop.Cart as Basket`, and of a class what lies in it: `import shop.Cart.Item as Line`
(import (qualified_identifier (identifier) @name .) (identifier) @alias)
(import (qualified_identifier (identifier) @class . (identifier) @name .) (identifier) @alias)
