; JavaScript.
; include ecmascript
; include jsx
(class_heritage [(identifier) @type (member_expression property: (property_identifier) @type)])
(class_declaration name: (identifier) @never)
(class name: (identifier) @never)
(formal_parameters (identifier) @bound)
