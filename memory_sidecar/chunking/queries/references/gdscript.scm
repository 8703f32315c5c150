; GDScript. `is` and `as` name types.
(identifier) @other
(call . (identifier) @call)
(attribute_call . (identifier) @call)
(call . (identifier) arguments: (arguments . (string) @argument))
(type [
  (identifier) @type
  (attribute (identifier) @type .)
  (subscript . (identifier) @type)])
(type (subscript arguments: (subscript_arguments (identifier) @type)))
(binary_operator op: ["is" "as"] right: (identifier) @type)
(attribute (_) . (identifier) @attribute)
(annotation (identifier) @never)
(enumerator left: (identifier) @never)
(pair left: (identifier) @skip)
(variable_statement name: (name) @bound)
(parameters (identifier) @bound)
(typed_parameter . (identifier) @bound)
(default_parameter . (identifier) @bound)
(typed_default_parameter . (identifier) @bound)
(for_statement left: (identifier) @bound)
(pattern_binding (identifier) @bound)
