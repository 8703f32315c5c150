; C++. `Base(x)` in a list of initializers may be a base or a field: an attribute. The
; grammar reads some expressions, such as `Color::Red;`, as declarations: their names are types.
; include c
(call_expression function: [
  (template_function name: (identifier) @call)
  (field_expression field: (template_method name: (field_identifier) @call))
  (field_expression field: (dependent_name (template_method name: (field_identifier) @call)))
  (qualified_identifier name: [(identifier) @call (template_function name: (identifier) @call)])
  (qualified_identifier name: (qualified_identifier name: [(identifier) @call (template_function name: (identifier) @call)]))
  (qualified_identifier name: (qualified_identifier name: (qualified_identifier name: [(identifier) @call (template_function name: (identifier) @call)])))])
(new_expression type: [
  (type_identifier) @call
  (template_type name: (type_identifier) @call)
  (qualified_identifier name: [(type_identifier) @call (template_type name: (type_identifier) @call)])])
(using_declaration [(identifier) @import (qualified_identifier name: (identifier) @import)])
(qualified_identifier name: (identifier) @attribute)
(field_initializer [(field_identifier) @attribute (template_method name: (field_identifier) @attribute)])
(namespace_identifier) @other
(class_specifier name: (type_identifier) @never body: (_))
(namespace_definition name: [(namespace_identifier) @never (nested_namespace_specifier (namespace_identifier) @never)])
(alias_declaration name: (type_identifier) @never)
(concept_definition name: (identifier) @never)
(type_parameter_declaration (type_identifier) @never)
(optional_type_parameter_declaration name: (type_identifier) @never)
(variadic_type_parameter_declaration (type_identifier) @never)
(function_declarator declarator: (qualified_identifier name: (identifier) @never))
(function_declarator declarator: (qualified_identifier name: (qualified_identifier name: (identifier) @never)))
(destructor_name (identifier) @never)
(reference_declarator (identifier) @bound)
(variadic_declarator (identifier) @bound)
(structured_binding_declarator (identifier) @bound)
