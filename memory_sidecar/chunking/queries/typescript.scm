; TypeScript.
; include ecmascript
(class_declaration name: (type_identifier) @name body: (class_body) @body) @definition
(abstract_class_declaration name: (type_identifier) @name body: (class_body) @body) @definition
(interface_declaration name: (type_identifier) @name body: (interface_body) @body) @definition
(enum_declaration name: (identifier) @name body: (enum_body) @body) @definition
(type_alias_declaration name: (type_identifier) @name) @definition
(internal_module name: (_) @name body: (statement_block) @body) @definition
(module name: (_) @name body: (statement_block)? @body) @definition
(function_signature name: (identifier) @name) @definition
(method_signature name: (_) @name) @definition
(public_field_definition name: (_) @name) @definition @part
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition @part
(interface_body (property_signature name: (_) @name) @definition @part)
(type_alias_declaration value: (object_type (property_signature name: (_) @name) @definition @part))
(abstract_method_signature name: (_) @name) @definition
(enum_body name: (property_identifier) @name @definition)
(enum_assignment name: (_) @name) @definition
(public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)] @kind) @definition
[(internal_module (statement_block (_ (variable_declarator name: (identifier) @name value: (_)? @value) @definition)))
 (module (statement_block (_ (variable_declarator name: (identifier) @name value: (_)? @value) @definition)))
 (ambient_declaration (statement_block (_ (variable_declarator name: (identifier) @name) @definition)))]
(class name: (type_identifier) @name body: (class_body) @body) @definition
(ambient_declaration (_ (variable_declarator name: (identifier) @name) @definition))
