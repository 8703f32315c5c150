; C#. A namespace is a scope, not a symbol; attributes and `///` comments are leads.
(namespace_declaration name: (_) @name body: (declaration_list) @body) @scope
(file_scoped_namespace_declaration name: (_) @name) @scope @rest
(class_declaration name: (identifier) @name body: (declaration_list)? @body) @definition
(struct_declaration name: (identifier) @name body: (declaration_list)? @body) @definition
(interface_declaration name: (identifier) @name body: (declaration_list)? @body) @definition
(record_declaration name: (identifier) @name body: (declaration_list)? @body) @definition
(enum_declaration name: (identifier) @name body: (enum_member_declaration_list)? @body) @definition
(delegate_declaration name: (identifier) @name) @definition
(method_declaration name: (identifier) @name body: (_)? @body) @definition
(constructor_declaration name: (identifier) @name body: (_)? @body) @definition
(destructor_declaration name: (identifier) @name body: (_)? @body) @definition
(local_function_statement name: (identifier) @name body: (_)? @body) @definition
(operator_declaration operator: _ @name body: (_)? @body) @definition
(conversion_operator_declaration type: (_) @name body: (_)? @body) @definition
(record_declaration (parameter_list (parameter name: (identifier) @name) @definition @part))
(property_declaration name: (identifier) @name accessors: (accessor_list)? @body) @definition
(property_declaration name: (identifier) @name accessors: (accessor_list (accessor_declaration body: (_) @code)) @body) @definition
(property_declaration name: (identifier) @name value: (arrow_expression_clause) @code) @definition
(event_declaration name: (identifier) @name accessors: (accessor_list) @code @body) @definition
(indexer_declaration "this" @name accessors: (accessor_list)? @body) @definition
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition
(enum_member_declaration name: (identifier) @name) @definition
(attribute_list) @lead
(comment) @lead
