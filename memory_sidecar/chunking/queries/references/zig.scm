; Zig, where types are values: a type may stand wherever an identifier may.
(identifier) @other
(call_expression function: [(identifier) @call (field_expression member: (identifier) @call)])
(parameter type: [(identifier) @type (_ (identifier) @type)])
(container_field type: (identifier) @type)
(function_declaration type: [(identifier) @type (_ (identifier) @type)])
(variable_declaration type: (identifier) @type)
(struct_initializer . (identifier) @type)
(field_expression member: (identifier) @attribute)
(error_type (identifier) @attribute)
(variable_declaration
  . (identifier) @import
  [(builtin_function (builtin_identifier) @_) (field_expression object: (builtin_function))] .)
(function_declaration name: (identifier) @never)
(container_field name: (identifier) @never)
(parameter name: (identifier) @bound)
(variable_declaration . (identifier) @bound)
(payload (identifier) @bound)
(break_label (identifier) @skip)
(block_label (identifier) @skip)
