; Go. A method belongs to its receiver's type.
(function_declaration name: (identifier) @name body: (block)? @body) @definition
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (pointer_type (type_identifier) @owner)
    (generic_type type: (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name body: (block)? @body) @definition
(type_declaration "(" (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body) @kind) @definition)
(type_declaration "(" (type_spec name: (type_identifier) @name type: (interface_type "{" @body) @kind) @definition)
(type_declaration "(" (type_spec name: (type_identifier) @name) @definition)
(type_declaration "(" (type_alias name: (type_identifier) @name) @definition)
(type_declaration . (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body) @kind) .) @definition
(type_declaration . (type_spec name: (type_identifier) @name type: (interface_type "{" @body) @kind) .) @definition
(type_declaration . (type_spec name: (type_identifier) @name) .) @definition
(type_spec type: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @name) @definition @part)))
(type_spec type: (interface_type (method_elem name: (field_identifier) @name) @definition))
(type_declaration . (type_alias name: (type_identifier) @name) .) @definition
(source_file (const_declaration (const_spec name: (identifier) @name) @definition))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition)))
(source_file (var_declaration (var_spec name: (identifier) @name
  value: (expression_list . (func_literal body: (_) @body) @kind .)) @definition))
(comment) @lead
