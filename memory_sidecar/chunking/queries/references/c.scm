; C. A macro that is used like a function is a call; `sizeof(cart_t)` may be a variable: `other`.
(identifier) @other
(type_identifier) @type
(call_expression function: [
  (identifier) @call
  (field_expression field: (field_identifier) @call)])
(preproc_include path: [(system_lib_string) @path (string_literal (string_content) @path)])
(field_expression field: (field_identifier) @attribute)
[(declaration) (compound_literal_expression)] @literal
(initializer_pair designator: (field_designator) value: (initializer_list) @literal)
(initializer_pair designator: (field_designator (field_identifier) @key))
(struct_specifier name: (type_identifier) @never body: (_))
(union_specifier name: (type_identifier) @never body: (_))
(enum_specifier name: (type_identifier) @never body: (_))
(enumerator name: (identifier) @never)
(type_definition declarator: (type_identifier) @never)
(type_definition declarator: (_ declarator: (type_identifier) @never))
(function_declarator declarator: (identifier) @never)
(preproc_def name: (identifier) @never)
(preproc_function_def name: (identifier) @never)
(preproc_params (identifier) @bound)
[(preproc_def value: (_) @tokens) (preproc_function_def value: (_) @tokens)]
(_ declarator: (identifier) @bound)
