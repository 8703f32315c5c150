; Haskell. A type signature and the equations below it define one name.
(data_type name: (_) @name) @definition
(newtype name: (_) @name) @definition
(type_synonym name: (_) @name) @definition
(class name: (_) @name declarations: (_)? @body) @definition
(instance name: (_) @name declarations: (_)? @body) @scope
(signature name: (variable) @name) @definition
(declarations [(function name: (variable) @name) (bind name: (variable) @name)] @definition)
(class_declarations [(function name: (_) @name) (bind name: (_) @name)] @definition)
(instance_declarations [(function name: (_) @name) (bind name: (_) @name)] @definition)
[(comment) (haddock)] @lead
