; Kotlin. `Cart(1)` is a call, like any function; a base with arguments and an annotation are types.
[(simple_identifier) (interpolated_identifier)] @other
(type_identifier) @type
(call_expression . [
  (simple_identifier) @call
  (navigation_expression (navigation_suffix (simple_identifier) @call) .)])
(infix_expression (_) . (simple_identifier) @call . (_))
(import_header (identifier (simple_identifier) @import .))
(import_header (identifier (simple_identifier) @skip))
(import_alias (type_identifier) @never)
(package_header (identifier (simple_identifier) @never))
(navigation_suffix (simple_identifier) @attribute)
(callable_reference (_) . (simple_identifier) @attribute)
(value_argument . (simple_identifier) @skip . "=")
(class_declaration (type_identifier) @never)
(object_declaration (type_identifier) @never)
(companion_object (type_identifier) @never)
(type_alias . (type_identifier) @never)
(type_parameter (type_identifier) @never)
(enum_entry (simple_identifier) @never)
(function_declaration (simple_identifier) @never)
(class_parameter (simple_identifier) @bound . ":")
(parameter (simple_identifier) @bound)
(variable_declaration (simple_identifier) @bound)
(catch_block . (simple_identifier) @bound)
