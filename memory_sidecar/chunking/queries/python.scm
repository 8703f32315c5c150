; Python. Nested functions are definitions; variables only in a module or a class.
(class_definition name: (identifier) @name body: (block) @body) @definition
(function_definition name: (identifier) @name body: (block) @body) @definition
(module (expression_statement (assignment left: (identifier) @name) @definition))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @definition)))
(type_alias_statement left: (type (identifier) @name)) @definition
(decorator) @lead
(comment) @lead
