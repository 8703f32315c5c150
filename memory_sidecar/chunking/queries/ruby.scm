; Ruby.
(module name: (_) @name body: (body_statement)? @body) @definition
(class name: (_) @name body: (body_statement)? @body) @definition
(method name: (_) @name body: (_)? @body) @definition
(singleton_method name: (_) @name body: (_)? @body) @definition
(assignment left: (constant) @name) @definition
(comment) @lead
