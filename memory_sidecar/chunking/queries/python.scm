; Python. Nested functions are definitions; variables only in a module or a class.
(class_definition name: (identifier) @name body: (block) @body) @definition
(function_definition name: (identifier) @name body: (block) @body) @definition
(module (expression_statement (assignment left: (identifier) @name right: (lambda body: (_) @body)? @kind) @definition))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @definition))
[(module (expression_statement (assignment right: (assignment left: (identifier) @name)) @definition))
 (class_definition body: (block (expression_statement (assignment right: (assignment left: (identifier) @name)) @definition)))]
(module [
  (if_statement [
    (block (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition))
    (_ (block (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition)))])
  (try_statement [
    (block (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition))
    (_ (block (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition)))])
  (with_statement body: (block (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition)))])
(class_definition body: (block (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition)))
(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @definition
(decorator) @lead
(comment) @lead
