; TypeScript.
(class_declaration name: (type_identifier) @name body: (class_body) @body) @definition
(abstract_class_declaration name: (type_identifier) @name body: (class_body) @body) @definition
(interface_declaration name: (type_identifier) @name body: (interface_body) @body) @definition
(enum_declaration name: (identifier) @name body: (enum_body) @body) @definition
(type_alias_declaration name: (type_identifier) @name) @definition
(internal_module name: (_) @name body: (statement_block) @body) @definition
(module name: (_) @name body: (statement_block)? @body) @definition
(function_declaration name: (identifier) @name body: (statement_block) @body) @definition
(generator_function_declaration name: (identifier) @name body: (statement_block) @body) @definition
(function_signature name: (identifier) @name) @definition
(method_definition name: (_) @name body: (statement_block) @body) @definition
(method_signature name: (_) @name) @definition
(public_field_definition name: (_) @name) @definition @part
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition @part
(interface_body (property_signature name: (_) @name) @definition @part)
(type_alias_declaration value: (object_type (property_signature name: (_) @name) @definition @part))
(abstract_method_signature name: (_) @name) @definition
(enum_body name: (property_identifier) @name @definition)
(enum_assignment name: (_) @name) @definition
(public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)] @kind) @definition
(variable_declarator name: (identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition
(assignment_expression left: (member_expression) @name
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition
(pair key: (property_identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition
(function_expression name: (identifier) @name body: (_) @body) @definition
(generator_function name: (identifier) @name body: (_) @body) @definition
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (_)? @value) @definition))
(program (variable_declaration (variable_declarator name: (identifier) @name value: (_)? @value) @definition))
(export_statement (_ (variable_declarator name: [(identifier) @name
  (object_pattern [(shorthand_property_identifier_pattern) @name (rest_pattern (identifier) @name)
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
    (pair_pattern value: [(identifier) @name (assignment_pattern left: (identifier) @name)])])
  (array_pattern [(identifier) @name (rest_pattern (identifier) @name) (assignment_pattern left: (identifier) @name)])]) @definition))
[(internal_module (statement_block (_ (variable_declarator name: (identifier) @name value: (_)? @value) @definition)))
 (module (statement_block (_ (variable_declarator name: (identifier) @name value: (_)? @value) @definition)))
 (ambient_declaration (statement_block (_ (variable_declarator name: (identifier) @name) @definition)))]
(variable_declarator name: (identifier) @name value: (class body: (class_body) @body) @kind) @definition
(assignment_expression left: (member_expression) @name right: (class body: (class_body) @body) @kind) @definition
(class name: (type_identifier) @name body: (class_body) @body) @definition
(ambient_declaration (_ (variable_declarator name: (identifier) @name) @definition))
(decorator) @lead
(comment) @lead
