; JavaScript and TypeScript: imports, and names bound to a call of `require`, captured as `@by`, or
; to an awaited `import()`.
(import_statement
  (import_clause (named_imports (import_specifier name: (identifier) @name alias: (identifier) @alias)))
  source: (string (string_fragment) @module))
(import_statement
  (import_clause (namespace_import (identifier) @alias)) source: (string (string_fragment) @name))
(variable_declarator name: (identifier) @alias
  value: [(call_expression function: (identifier) @by arguments: (arguments . (string (string_fragment) @name)))
    (await_expression (call_expression function: (import) arguments: (arguments . (string (string_fragment) @name))))])
(call_expression
  function: (member_expression object: (call_expression function: (import) arguments: (arguments . (string (string_fragment) @name))))
  arguments: (arguments . (arrow_function parameter: (identifier) @alias)))
(variable_declarator name: (identifier) @alias
  value: (member_expression
    object: [(call_expression function: (identifier) @by arguments: (arguments . (string (string_fragment) @module)))
      (parenthesized_expression (await_expression (call_expression function: (import) arguments: (arguments . (string (string_fragment) @module)))))]
    property: (property_identifier) @name))
(variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @alias @name)
  value: [(call_expression function: (identifier) @by arguments: (arguments . (string (string_fragment) @module)))
    (await_expression (call_expression function: (import) arguments: (arguments . (string (string_fragment) @module))))])
(variable_declarator
  name: (object_pattern (pair_pattern key: (property_identifier) @name value: (identifier) @alias))
  value: [(call_expression function: (identifier) @by arguments: (arguments . (string (string_fragment) @module)))
    (await_expression (call_expression function: (import) arguments: (arguments . (string (string_fragment) @module))))])
