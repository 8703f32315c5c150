; Swift. An extension is a scope; it does not define its type again.
(class_declaration "extension" name: (user_type) @name body: (_) @body) @scope
(class_declaration ["class" "struct" "enum" "actor"] @kind name: (type_identifier) @name body: (_) @body) @definition
(protocol_declaration name: (type_identifier) @name body: (_) @body) @definition
(function_declaration name: [
  (simple_identifier) (custom_operator) (bang) "==" "!=" "===" "!==" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "&" "|" "^" "~" "<<" ">>"
  "+=" "-=" "*=" "/=" "%="] @name body: (function_body)? @body) @definition
(protocol_property_declaration name: (pattern (simple_identifier) @name)) @definition
(associatedtype_declaration name: (type_identifier) @name) @definition
(macro_declaration "macro" . (simple_identifier) @name) @definition
(subscript_declaration "subscript" @name) @definition
(protocol_function_declaration name: (simple_identifier) @name) @definition
(init_declaration "init" @name body: (function_body)? @body) @definition
(deinit_declaration "deinit" @name body: (function_body)? @body) @definition
(typealias_declaration name: (type_identifier) @name) @definition
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @definition)
(class_body (property_declaration name: (pattern (simple_identifier) @name)) @definition)
(enum_class_body (property_declaration name: (pattern (simple_identifier) @name)) @definition)
(source_file (property_declaration name: (pattern (simple_identifier) @name) [(computed_property) (willset_didset_block)] @code @body) @definition)
(class_body (property_declaration name: (pattern (simple_identifier) @name) [(computed_property) (willset_didset_block)] @code @body) @definition)
(enum_class_body (property_declaration name: (pattern (simple_identifier) @name) (computed_property) @code @body) @definition)
(enum_entry name: (simple_identifier) @name) @definition
(attribute) @lead
(comment) @lead
(multiline_comment) @lead
