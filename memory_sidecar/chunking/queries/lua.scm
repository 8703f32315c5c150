; Lua. `function Cart.add` and `function Cart:add` are `add`, owned by Cart.
(function_declaration name: (_) @name body: (block)? @body) @definition
(assignment_statement
  (variable_list . name: [(identifier) (dot_index_expression)] @name)
  (expression_list . value: (function_definition body: (block)? @body "end" @body) @kind)) @definition
(field name: [(identifier) @name (string content: (_) @name)] value: (function_definition body: (block)? @body) @kind) @definition
; `local cart = require "cart"` is an import: outline.py looks at the value.
(chunk [(variable_declaration (assignment_statement (variable_list name: (identifier) @name) (expression_list . (_) @value)) @definition)
  (assignment_statement (variable_list name: [(identifier) (dot_index_expression table: (identifier))] @name) (expression_list . (_) @value)) @definition])
(comment) @lead
