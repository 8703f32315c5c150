; JavaScript and TypeScript. The names after `extends` and `instanceof` are types.
(identifier) @other
(shorthand_property_identifier) @other
(call_expression function: [
  (identifier) @call
  (member_expression property: [(property_identifier) (private_property_identifier)] @call)])
(new_expression constructor: [
  (identifier) @call
  (member_expression property: (property_identifier) @call)])
(decorator [(identifier) @call (member_expression property: (property_identifier) @call)])
(binary_expression operator: "instanceof" right: [
  (identifier) @type
  (member_expression property: (property_identifier) @type)])
(import_clause (identifier) @import)
(import_specifier name: (identifier) @import)
(import_specifier alias: (identifier) @bound)
(namespace_import (identifier) @bound)
(import_statement source: (string (string_fragment) @path))
(export_statement source: (string (string_fragment) @path))
(export_statement "*" @import)
(export_statement (export_clause (export_specifier name: (identifier) @import)) source: (_))
(export_specifier alias: (identifier) @skip)
(call_expression function: (import) arguments: (arguments . (string (string_fragment) @path)))
(call_expression function: (identifier) arguments: (arguments . (string (string_fragment) @argument)))
(member_expression property: [(property_identifier) (private_property_identifier)] @attribute)
(variable_declarator name: (identifier)
  value: (call_expression function: (identifier) arguments: (arguments . (string (string_fragment) @from)))) @required
(member_expression
  object: [(call_expression function: (identifier) arguments: (arguments . (string (string_fragment) @from)))
    (parenthesized_expression (await_expression
      (call_expression function: (import) arguments: (arguments . (string (string_fragment) @from)))))]
  property: (property_identifier)) @required
(function_declaration name: (identifier) @never)
(generator_function_declaration name: (identifier) @never)
(function_expression name: (identifier) @never)
(variable_declarator name: (identifier) @bound)
(assignment_expression left: (identifier) @assigned)
(augmented_assignment_expression left: (identifier) @assigned)
(for_in_statement left: (identifier) @bound)
(catch_clause parameter: (identifier) @bound)
(arrow_function parameter: (identifier) @bound)
(shorthand_property_identifier_pattern) @bound
(pair_pattern value: (identifier) @bound)
(array_pattern (identifier) @bound)
(rest_pattern (identifier) @bound)
(assignment_pattern left: (identifier) @bound)
