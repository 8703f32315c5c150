; Kotlin. `import shop.Cart as Basket`
(import (qualified_identifier (identifier) @name .) (identifier) @alias)
