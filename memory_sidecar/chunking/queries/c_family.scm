; C and C++: types, declarations of a file, macros.
(type_definition type: [(struct_specifier body: (_) @body) (union_specifier body: (_) @body) (enum_specifier body: (_) @body)] @kind
  declarator: (type_identifier) @name) @definition
(type_definition declarator: [(type_identifier) @name
  (_ declarator: (type_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator [(type_identifier) @name (_ declarator: (type_identifier) @name)]))]) @definition
(declaration declarator: [(identifier) @name
  (_ declarator: (identifier) @name)
  (_ declarator: (_ declarator: (identifier) @name))
  (_ declarator: (_ declarator: (_ declarator: (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (_ declarator: (identifier) @name)))
  (_ declarator: (function_declarator declarator: (parenthesized_declarator (_ declarator: (identifier) @name))))]) @definition
(field_declaration declarator: [(field_identifier) @name
  (_ declarator: (field_identifier) @name)
  (_ declarator: (_ declarator: (field_identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (_ declarator: (field_identifier) @name)))]) @definition @part
(enumerator name: (identifier) @name) @definition
(preproc_def name: (identifier) @name value: (preproc_arg)) @definition
(preproc_function_def name: (identifier) @name) @definition
(comment) @lead
