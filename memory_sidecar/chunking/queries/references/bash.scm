; Bash. Words are text; only commands and expanded variables are names.
(command name: (command_name (word) @call))
(command name: (command_name (word)) . argument: (_) @argument)
(simple_expansion (variable_name) @other)
(expansion (variable_name) @other)
(variable_assignment name: (variable_name) @bound)
(declaration_command (variable_name) @bound)
(for_statement variable: (variable_name) @bound)
