; Kotlin. `import shop.Cart as Basket`, and a member of a class: `import shop.Cart.Item as Line`
(import (qualified_identifier (identifier) @name .) (identifier) @alias)
(import (qualified_identifier (identifier) @class . (identifier) @name .) (identifier) @alias)
