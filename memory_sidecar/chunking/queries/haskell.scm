; Haskell. A type signature and the equations below it define one name.
(data_type name: (_) @name) @definition
(newtype name: (_) @name) @definition
(type_synonym name: (_) @name) @definition
(class name: (_) @name declarations: (_)? @body) @definition
(instance name: (_) @name declarations: (_)? @body) @scope
(data_family name: (_) @name) @definition
(type_family name: (_) @name) @definition
; A constructor named like its type is that type: outline.py drops it.
(data_constructor constructor: [(prefix name: (_) @name) (record name: (_) @name)]) @definition
(newtype_constructor name: (_) @name) @definition
(gadt_constructor name: (constructor) @name) @definition
(field name: (field_name (variable) @name)) @definition @part
(pattern_synonym (equation synonym: [(constructor) @name
  (apply function: [(constructor) @name
    (apply function: [(constructor) @name
      (apply function: [(constructor) @name (apply function: (constructor) @name)])])])])) @definition
(signature name: [(variable) @name (prefix_id (operator) @name)]) @definition
(class_declarations (signature names: (binding_list name: [(variable) @name (prefix_id (operator) @name)])) @definition)
(declarations [
  (function name: [(variable) @name (prefix_id (operator) @name)])
  (function (infix operator: (operator) @name))
  (bind name: [(variable) @name (prefix_id (operator) @name)])] @definition)
(class_declarations [
  (function name: [(variable) @name (prefix_id (operator) @name)])
  (function (infix operator: (operator) @name))
  (bind name: [(variable) @name (prefix_id (operator) @name)])] @definition)
(instance_declarations [
  (function name: [(variable) @name (prefix_id (operator) @name)])
  (function (infix operator: (operator) @name))
  (bind name: [(variable) @name (prefix_id (operator) @name)])] @definition)
[(comment) (haddock)] @lead
