; Swift. `Cart(1)` is a call, like any function; attributes and `@available` are types.
(simple_identifier) @other
(type_identifier) @type
(call_expression . [
  (simple_identifier) @call
  (prefix_expression operation: "." target: (simple_identifier) @call)
  (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))]
  (call_suffix [(value_arguments "(") (lambda_literal)]))
(inheritance_constraint constrained_type: (identifier (simple_identifier) @type))
(constructor_expression constructed_type: [
  (user_type (type_identifier) @call .)
  (user_type (type_identifier) @call . (type_arguments))])
(import_declaration (identifier (simple_identifier) @import .))
(import_declaration (identifier (simple_identifier) @skip))
(navigation_suffix suffix: (simple_identifier) @attribute)
(prefix_expression operation: "." target: (simple_identifier) @attribute)
(pattern "." . (simple_identifier) @attribute)
(value_argument_label (simple_identifier) @never)
(attribute (simple_identifier) @skip)
(class_declaration name: (type_identifier) @never)
(protocol_declaration name: (type_identifier) @never)
(typealias_declaration name: (type_identifier) @never)
(associatedtype_declaration name: (type_identifier) @never)
(type_parameter (type_identifier) @never)
(function_declaration name: (simple_identifier) @never)
(protocol_function_declaration name: (simple_identifier) @never)
(enum_entry name: (simple_identifier) @never)
(parameter external_name: (simple_identifier) @never)
(parameter name: (simple_identifier) @bound)
(lambda_parameter name: (simple_identifier) @bound)
(pattern (simple_identifier) @bound)
(_ bound_identifier: (simple_identifier) @bound)
(computed_setter (simple_identifier) @bound)
