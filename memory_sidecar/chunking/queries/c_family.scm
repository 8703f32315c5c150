; C and C++: types, declarations of a file, macros.
(type_definition type: [(struct_specifier body: (_) @body) (union_specifier body: (_) @body) (enum_specifier body: (_) @body)] @kind
  declarator: (type_identifier) @name) @definition
; outline.py looks for the name in a declarator: for `f` in `*(*f)(int)`.
(type_definition declarator: (_) @name) @definition
(declaration declarator: (_) @name) @definition
(field_declaration declarator: (_) @name) @definition @part
(enumerator name: (identifier) @name) @definition
(preproc_def name: (identifier) @name value: (preproc_arg)) @definition
(preproc_function_def name: (identifier) @name) @definition
(comment) @lead
