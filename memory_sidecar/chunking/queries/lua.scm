; Lua. `function Cart.add` and `function Cart:add` are `add`, owned by Cart.
(function_declaration name: (_) @name body: (block)? @body) @definition
(assignment_statement
  (variable_list name: (_) @name)
  (expression_list value: (function_definition body: (block)? @body))) @definition
(field name: (identifier) @name value: (function_definition body: (block)? @body)) @definition
(comment) @lead
