; SQL: the objects that `CREATE` makes.
(create_table (object_reference name: (identifier) @name)) @definition
(create_view (object_reference name: (identifier) @name)) @definition
(create_materialized_view (object_reference name: (identifier) @name)) @definition
(create_index column: (identifier) @name) @definition
; The type of a result, and the table and the function of a trigger, are object references, too.
(create_function (keyword_function) . (object_reference name: (identifier) @name) (function_body)? @body) @definition
(create_procedure (keyword_procedure) . (object_reference name: (identifier) @name) (procedure_body)? @body) @definition
; Most bodies of procedures are errors, and these take the statement with them.
(ERROR [(keyword_create) (keyword_replace)] . [(keyword_procedure) (keyword_function)] @kind . (object_reference name: (identifier) @name) @definition)
(create_trigger (keyword_trigger) . (object_reference name: (identifier) @name)) @definition
(create_type (object_reference name: (identifier) @name)) @definition
(comment) @lead
(marginalia) @lead
