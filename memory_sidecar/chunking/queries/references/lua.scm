; Lua. It has no types.
(identifier) @other
(function_call name: [
  (identifier) @call
  (dot_index_expression field: (identifier) @call)
  (method_index_expression method: (identifier) @call)])
(function_call name: (identifier) arguments: (arguments . (string content: (string_content) @argument)))
(dot_index_expression field: (identifier) @attribute)
(function_declaration name: [
  (identifier) @never
  (dot_index_expression field: (identifier) @never)
  (method_index_expression method: (identifier) @never)])
(field name: (identifier) @skip)
(attribute (identifier) @never)
(goto_statement (identifier) @skip)
(label_statement (identifier) @skip)
(parameters name: (identifier) @bound)
(variable_list name: (identifier) @bound)
(for_numeric_clause name: (identifier) @bound)
