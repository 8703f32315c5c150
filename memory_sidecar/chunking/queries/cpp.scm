; C++. `Cart::add` outside of its class is `add`, owned by Cart.
(namespace_definition name: (_) @name body: (_) @body) @scope
(class_specifier name: (_) @name body: (_) @body) @definition
(struct_specifier name: (_) @name body: (_) @body) @definition
(union_specifier name: (_) @name body: (_) @body) @definition
(enum_specifier name: (_) @name body: (_) @body) @definition
; `class EXPORT Cart {`, which is read as a function that returns `class EXPORT`.
(function_definition type: (class_specifier name: (_) !body) @kind declarator: (identifier) @name body: (_) @body) @definition
(function_definition type: (struct_specifier name: (_) !body) @kind declarator: (identifier) @name body: (_) @body) @definition
(concept_definition name: (identifier) @name) @definition
(alias_declaration name: (type_identifier) @name) @definition
(function_definition declarator: [(function_declarator) (pointer_declarator) (reference_declarator) (operator_cast) (qualified_identifier)] @name
  body: (_)? @body) @definition
(template_parameter_list) @lead
; include c_family
