; C. Prototypes and macros are definitions, since people search headers for them.
(function_definition declarator: [(function_declarator) (pointer_declarator)] @name body: (_) @body) @definition
(struct_specifier name: (type_identifier) @name body: (_) @body) @definition
(union_specifier name: (type_identifier) @name body: (_) @body) @definition
(enum_specifier name: (type_identifier) @name body: (_) @body) @definition
; include c_family
