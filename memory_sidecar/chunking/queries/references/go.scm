; Go. A conversion `Item(v)` looks like a call; a composite literal names a type.
(identifier) @other
(type_identifier) @type
(call_expression function: [
  (identifier) @call
  (selector_expression field: (field_identifier) @call)
  (index_expression operand: (identifier) @call)
  (parenthesized_expression (identifier) @call)])
(import_spec path: (_ [(interpreted_string_literal_content) (raw_string_literal_content)] @path))
(selector_expression field: (field_identifier) @attribute)
(package_identifier) @skip
(import_spec name: (package_identifier) @bound)
(composite_literal) @literal
(composite_literal type: [(type_identifier) (qualified_type) (generic_type)]
  body: (literal_value (keyed_element key: (literal_element (identifier) @key))))
(literal_element (literal_value (keyed_element key: (literal_element (identifier) @key))))
(function_declaration name: (identifier) @never)
(type_spec name: (type_identifier) @never)
(type_alias name: (type_identifier) @never)
(type_parameter_declaration name: (identifier) @never)
(const_spec (identifier) @bound)
(var_spec name: (identifier) @bound)
(parameter_declaration name: (identifier) @bound)
(variadic_parameter_declaration name: (identifier) @bound)
(short_var_declaration left: (expression_list (identifier) @bound))
(range_clause left: (expression_list (identifier) @bound))
(receive_statement left: (expression_list (identifier) @bound))
(type_switch_statement alias: (expression_list (identifier) @bound))
