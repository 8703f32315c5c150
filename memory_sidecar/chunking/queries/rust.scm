; Rust. An `impl` is a scope; it does not define its type again.
(impl_item type: [(type_identifier) (scoped_type_identifier)] @name body: (declaration_list) @body) @scope
(impl_item type: (generic_type type: (_) @name) body: (declaration_list) @body) @scope
(impl_item type: (reference_type type: [(type_identifier) (scoped_type_identifier) (primitive_type) (array_type)] @name) body: (declaration_list) @body) @scope
(impl_item type: (reference_type type: (generic_type type: (_) @name)) body: (declaration_list) @body) @scope
(impl_item type: [(primitive_type) (tuple_type) (array_type) (unit_type) (never_type)] @name body: (declaration_list) @body) @scope
(impl_item type: (dynamic_type trait: (_) @name) body: (declaration_list) @body) @scope
(impl_item type: (bounded_type . (dynamic_type trait: (_) @name)) body: (declaration_list) @body) @scope
(mod_item name: (identifier) @name body: (declaration_list)? @body) @definition
(struct_item name: (type_identifier) @name body: (_)? @body) @definition
(enum_item name: (type_identifier) @name body: (_) @body) @definition
(union_item name: (type_identifier) @name body: (_) @body) @definition
(field_declaration_list (field_declaration name: (field_identifier) @name) @definition @part)
(enum_variant name: (identifier) @name) @definition
(trait_item name: (type_identifier) @name body: (declaration_list) @body) @definition
(function_item name: (identifier) @name body: (block) @body) @definition
(function_signature_item name: (identifier) @name) @definition
(macro_definition name: (identifier) @name . ["{" "(" "["] @body) @definition
(associated_type name: (type_identifier) @name) @definition
(type_item name: (type_identifier) @name) @definition
(const_item name: (identifier) @name) @definition
(static_item name: (identifier) @name) @definition
(attribute_item) @lead
(line_comment) @lead
(block_comment) @lead
