; Kotlin. An extension function is listed by its own name.
(class_declaration ["class" "interface"] @kind name: (identifier) @name (class_body)? @body) @definition
(class_declaration name: (identifier) @name (enum_class_body) @kind @body) @definition
(object_declaration name: (identifier) @name (class_body)? @body) @definition
(companion_object "companion" @name (class_body) @body) @scope
(function_declaration name: (identifier) @name (function_body)? @body) @definition
(secondary_constructor "constructor" @name) @definition
(type_alias type: (identifier) @name) @definition
(source_file (property_declaration (variable_declaration (identifier) @name)) @definition)
(class_body (property_declaration (variable_declaration (identifier) @name)) @definition)
(enum_class_body (property_declaration (variable_declaration (identifier) @name)) @definition)
(source_file (property_declaration (variable_declaration (identifier) @name) [(getter) (setter)] @code @body) @definition)
(class_body (property_declaration (variable_declaration (identifier) @name) [(getter) (setter)] @code @body) @definition)
(enum_class_body (property_declaration (variable_declaration (identifier) @name) [(getter) (setter)] @code @body) @definition)
(source_file (property_declaration (variable_declaration (identifier) @name) (property_delegate) @code) @definition)
(class_body (property_declaration (variable_declaration (identifier) @name) (property_delegate) @code) @definition)
(enum_class_body (property_declaration (variable_declaration (identifier) @name) (property_delegate) @code) @definition)
(class_parameter ["val" "var"] . (identifier) @name) @definition @part
(enum_entry (identifier) @name (class_body)? @body) @definition
(annotation) @lead
(line_comment) @lead
(block_comment) @lead
