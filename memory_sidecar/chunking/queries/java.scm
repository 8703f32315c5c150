; Java. Annotations are part of the declaration, at the beginning of its signature.
(class_declaration name: (identifier) @name body: (class_body) @body) @definition
(interface_declaration name: (identifier) @name body: (interface_body) @body) @definition
(enum_declaration name: (identifier) @name body: (enum_body) @body) @definition
(record_declaration name: (identifier) @name body: (class_body) @body) @definition
(annotation_type_declaration name: (identifier) @name body: (_) @body) @definition
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @definition @part))
(annotation_type_element_declaration name: (identifier) @name) @definition
(method_declaration name: (identifier) @name body: (block)? @body) @definition
(constructor_declaration name: (identifier) @name body: (constructor_body) @body) @definition
(compact_constructor_declaration name: (identifier) @name body: (block) @body) @definition
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition
(enum_constant name: (identifier) @name body: (class_body)? @body) @definition
(marker_annotation) @lead
(annotation) @lead
(line_comment) @lead
(block_comment) @lead
