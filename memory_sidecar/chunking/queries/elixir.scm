; Elixir, where a definition is a call; the called word says of what kind.
(call target: (identifier) @word (arguments . (alias) @name) (do_block)? @body) @definition
(call target: (identifier) @word
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "when")])
  (do_block)? @body) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @word
  (arguments . (binary_operator left: [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))])))) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @word)) @lead
(comment) @lead
