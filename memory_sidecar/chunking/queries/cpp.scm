; C++. `Cart::add` outside of its class is `add`, owned by Cart.
(namespace_definition name: (_) @name body: (_) @body) @scope
(class_specifier name: (_) @name body: (_) @body) @definition
(struct_specifier name: (_) @name body: (_) @body) @definition
(union_specifier name: (_) @name body: (_) @body) @definition
(enum_specifier name: (_) @name body: (_) @body) @definition
; `class EXPORT Cart {`, which is read as a function that returns `class EXPORT`.
(function_definition type: (class_specifier name: (_) !body) @kind declarator: (identifier) @name body: (_) @body) @definition
(function_definition type: (struct_specifier name: (_) !body) @kind declarator: (identifier) @name body: (_) @body) @definition
(declaration declarator: (init_declarator declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  (reference_declarator (function_declarator declarator: (identifier) @name))] value: (number_literal))) @definition
(concept_definition name: (identifier) @name) @definition
(alias_declaration name: (type_identifier) @name) @definition
(function_definition declarator: (function_declarator declarator: (_) @name) body: (_)? @body) @definition
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)) body: (_)? @body) @definition
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) body: (_)? @body) @definition
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name)) body: (_)? @body) @definition
(function_definition declarator: [(operator_cast) (qualified_identifier)] @name body: (_)? @body) @definition
(declaration declarator: [(operator_cast) @name
  (function_declarator declarator: [(identifier) (qualified_identifier) (destructor_name) (operator_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: [(identifier) (qualified_identifier) (operator_name)] @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  (reference_declarator (function_declarator declarator: [(identifier) (qualified_identifier) (operator_name)] @name))]) @definition
(field_declaration declarator: [
  (function_declarator declarator: [(field_identifier) (operator_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name)))
  (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))]) @definition
(template_parameter_list) @lead
