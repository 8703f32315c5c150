; Kotlin. `Cart(1)` is a call, like any function; a base with arguments and an annotation are types.
(identifier) @other
(user_type (identifier) @type)
(type_constraint (identifier) @type)
(call_expression . [(identifier) @call (navigation_expression (identifier) @call .)])
; `listOf<Item>(1)` and `check<Item> { }` are two comparisons to the grammar.
(binary_expression
  left: (binary_expression
    left: [(identifier) @call (navigation_expression (identifier) @call .)]
    operator: "<" right: (identifier) @type)
  operator: ">" right: [(parenthesized_expression) (lambda_literal)])
(infix_expression (_) . (identifier) @call . (_))
(constructor_delegation_call) @chained
(import (qualified_identifier (identifier) @import .))
(import (qualified_identifier (identifier) @skip))
(import (identifier) @never)
(package_header (qualified_identifier (identifier) @never))
(navigation_expression (_) . (identifier) @attribute)
(navigation_expression . (identifier) @type . "::")
(callable_reference (_) . (identifier) @attribute)
(labeled_expression (label) . (identifier) @skip)
(value_argument . (identifier) @skip . "=")
(class_declaration name: (identifier) @never)
(object_declaration name: (identifier) @never)
(companion_object name: (identifier) @never)
(type_alias type: (identifier) @never)
(type_parameter (identifier) @never)
(enum_entry (identifier) @never)
(function_declaration name: (identifier) @never)
(class_parameter (identifier) @bound . ":")
(parameter (identifier) @bound)
(variable_declaration (identifier) @bound)
(catch_block . (identifier) @bound)
