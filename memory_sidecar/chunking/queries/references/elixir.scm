; Elixir. A bare word is a variable, unless a pipe or `&name/1` calls it.
(alias) @other
(struct (alias) @type)
(call target: (dot left: (alias) @type right: (identifier)) (arguments) .)
(call target: (identifier) @call)
(call target: (dot right: (identifier) @call) (arguments))
(dot left: (alias) right: (identifier) @call)
(dot right: (identifier) @attribute)
(dot left: (identifier) @skip)
(binary_operator operator: "|>" right: [(identifier) @call (call target: (dot right: (identifier) @call))])
(unary_operator operator: "&" operand: (binary_operator left: [
  (identifier) @other
  (call target: (dot right: (identifier) @other))] operator: "/" right: (integer)))
(call target: (identifier) (arguments . (alias) @argument))
(dot right: (tuple (alias) @import))
(unary_operator operator: "@" operand: (call target: (identifier) @never))
(unary_operator operator: "@" operand: (call target: (identifier) (arguments (binary_operator left: [
  (call target: (identifier) @never)
  (binary_operator left: (call target: (identifier) @never))]))))
