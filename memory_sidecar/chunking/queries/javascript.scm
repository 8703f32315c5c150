; JavaScript and JSX.
; include ecmascript
(class_declaration name: (identifier) @name body: (class_body) @body) @definition
(field_definition property: (_) @name) @definition @part
(field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)] @kind) @definition
(class name: (identifier) @name body: (class_body) @body) @definition
