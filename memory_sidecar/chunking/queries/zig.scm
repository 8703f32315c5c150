; Zig. What is not `pub` at the top of a file is mostly an import: `const Io = std.Io;`.
(function_declaration name: (_) @name body: (_)? @body) @definition
(source_file (variable_declaration "pub" . "const" . (identifier) @name (_) @value .) @definition)
(variable_declaration . (identifier) @name
  [(struct_declaration) (enum_declaration) (union_declaration) (opaque_declaration)] @kind @body) @definition
(comment) @lead
