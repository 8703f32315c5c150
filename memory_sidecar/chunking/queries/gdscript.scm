; GDScript. `class_name Player` names the whole script.
(class_name_statement name: (name) @name) @definition @rest
(class_definition name: (name) @name body: (_) @body) @definition
(function_definition name: (name) @name body: (_)? @body) @definition
(constructor_definition "_init" @name body: (_) @body) @definition
(signal_statement name: (name) @name) @definition
(enum_definition name: (name) @name body: (_) @body) @definition
(enumerator left: (identifier) @name) @definition
(const_statement name: (name) @name) @definition
(source (variable_statement name: (name) @name) @definition)
(class_body (variable_statement name: (name) @name) @definition)
(annotation) @lead
(annotations) @lead
(comment) @lead
