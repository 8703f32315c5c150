; TypeScript. Type parameters are used like types.
; include ecmascript
(type_identifier) @type
(call_expression function: (non_null_expression [(identifier) @call (member_expression property: (property_identifier) @call)]))
(type_query (identifier) @type)
(variable_declarator type: (_) value: (object (pair key: (property_identifier) @key))) @literal
(extends_clause value: [(identifier) @type (member_expression property: (property_identifier) @type)])
(class_declaration name: (type_identifier) @never)
(abstract_class_declaration name: (type_identifier) @never)
(class name: (type_identifier) @never)
(interface_declaration name: (type_identifier) @never)
(type_alias_declaration name: (type_identifier) @never)
(type_parameter name: (type_identifier) @never)
(mapped_type_clause name: (type_identifier) @never)
(infer_type (type_identifier) @never)
(enum_declaration name: (identifier) @never)
(internal_module name: (identifier) @never)
(module name: (identifier) @never)
(function_signature name: (identifier) @never)
(index_signature name: (identifier) @skip)
(type_predicate name: (identifier) @skip)
(required_parameter pattern: (identifier) @bound)
(optional_parameter pattern: (identifier) @bound)
(import_require_clause (identifier) @bound source: (string (string_fragment) @path))
