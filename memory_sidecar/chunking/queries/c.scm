; C. Prototypes and macros are definitions, since people search headers for them.
(function_definition declarator: (function_declarator declarator: (identifier) @name) body: (_) @body) @definition
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)) body: (_) @body) @definition
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) body: (_) @body) @definition
(declaration declarator: (function_declarator declarator: (identifier) @name)) @definition
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition
(declaration declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @definition
(struct_specifier name: (type_identifier) @name body: (_) @body) @definition
(union_specifier name: (type_identifier) @name body: (_) @body) @definition
(enum_specifier name: (type_identifier) @name body: (_) @body) @definition
