; PHP. A namespace with a body is a scope; one without is an ordinary line.
(namespace_definition name: (_) @name body: (_) @body) @scope
(class_declaration name: (name) @name body: (declaration_list) @body) @definition
(interface_declaration name: (name) @name body: (declaration_list) @body) @definition
(trait_declaration name: (name) @name body: (declaration_list) @body) @definition
(enum_declaration name: (name) @name body: (_) @body) @definition
(function_definition name: (name) @name body: (compound_statement) @body) @definition
(method_declaration name: (name) @name body: (compound_statement)? @body) @definition
(const_declaration (const_element (name) @name)) @definition
(property_declaration (property_element name: (variable_name (name) @name))) @definition
(property_promotion_parameter name: (variable_name (name) @name)) @definition @part
(function_call_expression function: (name) @word arguments: (arguments . (argument [(string (string_content) @name) (encapsed_string . (string_content) @name .)]))) @definition
(enum_case name: (name) @name) @definition
(attribute_list) @lead
(comment) @lead
