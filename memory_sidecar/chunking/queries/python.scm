; Python. Nested functions count; of the variables those of a module or class do.
(class_definition name: (identifier) @name body: (block) @body) @definition
(function_definition name: (identifier) @name body: (block) @body) @definition
(module (expression_statement (assignment left: (identifier) @name) @definition))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @definition)))
(type_alias_statement left: (type (identifier) @name)) @definition
(decorator) @lead
(comment) @lead
