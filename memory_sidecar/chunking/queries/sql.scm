; SQL: what `CREATE` makes.
(create_table (object_reference name: (identifier) @name)) @definition
(create_view (object_reference name: (identifier) @name)) @definition
(create_materialized_view (object_reference name: (identifier) @name)) @definition
(create_index column: (identifier) @name) @definition
(create_function (object_reference name: (identifier) @name)) @definition
(create_trigger (object_reference name: (identifier) @name)) @definition
(create_type (object_reference name: (identifier) @name)) @definition
(comment) @lead
(marginalia) @lead
