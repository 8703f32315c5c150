; Kotlin. An extension function is listed by its own name.
(class_declaration (type_identifier) @name [(class_body) (enum_class_body)]? @body) @definition
(object_declaration (type_identifier) @name (class_body)? @body) @definition
(companion_object "companion" @name (class_body) @body) @scope
(function_declaration (simple_identifier) @name (function_body)? @body) @definition
(secondary_constructor "constructor" @name) @definition
(type_alias (type_identifier) @name) @definition
(source_file (property_declaration (variable_declaration (simple_identifier) @name)) @definition)
(class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition)
(annotation) @lead
(line_comment) @lead
(multiline_comment) @lead
