; PHP. A variable has a `$` and is no reference; attributes are types.
(name) @other
(variable_name (name) @skip)
(function_call_expression function: [(name) @call (qualified_name (name) @call)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(named_type [(name) @type (qualified_name (name) @type)])
(base_clause [(name) @type (qualified_name (name) @type)])
(class_interface_clause [(name) @type (qualified_name (name) @type)])
(attribute [(name) @type (qualified_name (name) @type)])
(use_declaration [(name) @type @mixed (qualified_name (name) @type @mixed)])
(binary_expression operator: "instanceof" right: [(name) @type (qualified_name (name) @type)])
(namespace_use_clause [(name) @import (qualified_name (name) @import)])
(namespace_use_clause alias: (name) @never)
(namespace_use_declaration (namespace_name (name) @import .))
(include_expression (string (string_content) @path))
(include_once_expression (string (string_content) @path))
(require_expression (string (string_content) @path))
(require_once_expression (string (string_content) @path))
(include_expression (binary_expression right: (string (string_content) @path)))
(include_once_expression (binary_expression right: (string (string_content) @path)))
(require_expression (binary_expression right: (string (string_content) @path)))
(require_once_expression (binary_expression right: (string (string_content) @path)))
(member_access_expression name: (name) @attribute)
(nullsafe_member_access_expression name: (name) @attribute)
(class_constant_access_expression (_) . (name) @attribute)
(scoped_property_access_expression name: (variable_name (name) @attribute))
(qualified_name (name) @attribute)
(namespace_name (name) @skip)
(argument name: (name) @skip)
(class_declaration name: (name) @never)
(interface_declaration name: (name) @never)
(trait_declaration name: (name) @never)
(enum_declaration name: (name) @never)
(enum_case name: (name) @never)
(method_declaration name: (name) @never)
(function_definition name: (name) @never)
(const_element . (name) @never)
[(member_call_expression) (nullsafe_member_call_expression) (scoped_call_expression)] @dotted
[(member_access_expression) (nullsafe_member_access_expression)] @dotted
[(scoped_property_access_expression) (class_constant_access_expression)] @dotted
[(assignment_expression) (simple_parameter) (property_promotion_parameter) (catch_clause)] @typed
[(property_declaration) (foreach_statement) (binary_expression operator: "instanceof")] @typed
[(method_declaration) (function_definition) (anonymous_function) (arrow_function)] @scope
[(class_declaration) (trait_declaration) (enum_declaration) (anonymous_class)] @scope
(comment) @doc
(array_creation_expression . (array_element_initializer) . (array_element_initializer [(string) (encapsed_string)]) .) @pair
