; Scala.
(package_object name: (_) @name body: (_)? @body) @definition
(class_definition name: (_) @name body: (_)? @body) @definition
(object_definition name: (_) @name body: (_)? @body) @definition
(trait_definition name: (_) @name body: (_)? @body) @definition
(enum_definition name: (_) @name body: (_) @body) @definition
(simple_enum_case name: (_) @name) @definition
(full_enum_case name: (_) @name) @definition
(class_parameter name: (identifier) @name) @definition @part
(type_definition name: (_) @name) @definition
(function_definition name: (_) @name body: (_) @body) @definition
(function_declaration name: (_) @name) @definition
(given_definition name: (_) @name) @definition
(template_body [(val_declaration name: (identifier) @name) (var_declaration name: (identifier) @name)] @definition)
[(compilation_unit (_ pattern: [(identifier) @name (identifiers (identifier) @name)]) @definition)
 (template_body (_ pattern: [(identifier) @name (identifiers (identifier) @name)]) @definition)
 (enum_body (_ pattern: [(identifier) @name (identifiers (identifier) @name)]) @definition)]
[(comment) (block_comment) (annotation)] @lead
