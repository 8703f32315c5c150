; Bash and other shells.
(function_definition name: (word) @name body: (_) @body) @definition
(program (variable_assignment name: (variable_name) @name) @definition)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition)
(command name: (command_name (word) @word) argument: [(word) @name (concatenation . (word) @name)]) @definition
(comment) @lead
