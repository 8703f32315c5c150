; Dart. To the grammar, the body of a function follows the function, and is no part of it.
(class_definition name: (identifier) @name body: (_) @body) @definition
(mixin_declaration (identifier) @name (class_body) @body) @definition
(extension_declaration name: (identifier) @name body: (_) @body) @definition
(extension_type_declaration name: (identifier) @name body: (_) @body) @definition
(enum_declaration name: (identifier) @name body: (_) @body) @definition
(enum_constant name: (identifier) @name) @definition
(type_alias (type_identifier) @name . ["=" (type_parameters) (formal_parameter_list)]) @definition
(program [
  (function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name)
  (setter_signature name: (identifier) @name)] @definition . (function_body)? @body)
((method_signature [
  (function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name)
  (setter_signature name: (identifier) @name)
  (operator_signature (binary_operator) @name)
  (constructor_signature (identifier) @name . (formal_parameter_list))
  (factory_constructor_signature (identifier) @name . (formal_parameter_list))]) @definition . (function_body)? @body)
(declaration [
  (function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name)
  (setter_signature name: (identifier) @name)
  (operator_signature (binary_operator) @name)
  (constructor_signature (identifier) @name . (formal_parameter_list))
  (constant_constructor_signature (identifier) @name . (formal_parameter_list))
  (redirecting_factory_constructor_signature (identifier) @name . (formal_parameter_list))] @kind) @definition
(declaration (static_final_declaration_list (static_final_declaration . (identifier) @name))) @definition
(declaration (initialized_identifier_list (initialized_identifier . (identifier) @name))) @definition
(program (static_final_declaration_list (static_final_declaration . (identifier) @name) @definition))
(program (initialized_identifier_list (initialized_identifier . (identifier) @name) @definition))
(annotation) @lead
(comment) @lead
(documentation_comment) @lead
