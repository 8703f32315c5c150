; Zig. At the top of a file most names that are not `pub` are imports: `const Io = std.Io;`.
(function_declaration name: (_) @name body: (_)? @body) @definition
(source_file (variable_declaration "pub" . ["const" "var"] . (identifier) @name (_) @value .) @definition)
(variable_declaration . (identifier) @name
  [(struct_declaration) (enum_declaration) (union_declaration) (opaque_declaration)] @kind @body) @definition
(container_field name: (identifier) @name) @definition @part
(comment) @lead
