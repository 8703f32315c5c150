; JavaScript and TypeScript. A function bound to a name is a definition at any depth.
(function_declaration name: (identifier) @name body: (statement_block) @body) @definition
(generator_function_declaration name: (identifier) @name body: (statement_block) @body) @definition
(method_definition name: (_) @name body: (statement_block) @body) @definition
(variable_declarator name: (identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition
(assignment_expression left: (member_expression) @name
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition
(pair key: (property_identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition
(function_expression name: (identifier) @name body: (_) @body) @definition
(generator_function name: (identifier) @name body: (_) @body) @definition
; `var cart = require('./cart')` is an import: outline.py looks at the value.
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (_)? @value) @definition))
(program (variable_declaration (variable_declarator name: (identifier) @name value: (_)? @value) @definition))
(export_statement (_ (variable_declarator name: [(identifier) @name
  (object_pattern [(shorthand_property_identifier_pattern) @name (rest_pattern (identifier) @name)
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
    (pair_pattern value: [(identifier) @name (assignment_pattern left: (identifier) @name)])])
  (array_pattern [(identifier) @name (rest_pattern (identifier) @name) (assignment_pattern left: (identifier) @name)])]) @definition))
(variable_declarator name: (identifier) @name value: (class body: (class_body) @body) @kind) @definition
(assignment_expression left: (member_expression) @name right: (class body: (class_body) @body) @kind) @definition
(decorator) @lead
(comment) @lead
