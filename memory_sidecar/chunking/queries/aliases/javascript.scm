; JavaScript.
; include ecmascript
(call_expression
  function: (member_expression object: (call_expression function: (import) arguments: (arguments . (string (string_fragment) @name))))
  arguments: (arguments . (arrow_function parameters: (formal_parameters . (identifier) @alias))))
(call_expression
  function: (member_expression object: (call_expression function: (import) arguments: (arguments . (string (string_fragment) @module))))
  arguments: (arguments . (arrow_function parameters: (formal_parameters . (object_pattern (shorthand_property_identifier_pattern) @alias @name)))))
