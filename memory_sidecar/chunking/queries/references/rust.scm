; Rust. `Some(x)` is a call, and a type in a pattern. Inside of macros there are only tokens: a name
; before a parenthesis is a call there. A pattern of one name is a variable.
(identifier) @other
(type_identifier) @type
(shorthand_field_identifier) @skip
(call_expression function: [
  (identifier) @call
  (scoped_identifier name: (identifier) @call)
  (field_expression field: (field_identifier) @call)
  (generic_function function: [
    (identifier) @call
    (scoped_identifier name: (identifier) @call)
    (field_expression field: (field_identifier) @call)])])
(macro_invocation macro: [(identifier) @call (scoped_identifier name: (identifier) @call)])
(token_tree (identifier) @call . (token_tree . "("))
(token_tree (identifier) @attribute . ":")
(tuple_struct_pattern type: [(identifier) @type (scoped_identifier name: (identifier) @type)])
(use_declaration argument: [
  (identifier) @import
  (scoped_identifier name: (identifier) @import)
  (scoped_use_list path: [(identifier) @import (scoped_identifier name: (identifier) @import)])])
(use_list [
  (identifier) @import
  (scoped_identifier name: (identifier) @import)
  (scoped_use_list path: [(identifier) @import (scoped_identifier name: (identifier) @import)])])
(use_as_clause path: [(identifier) @import (scoped_identifier name: (identifier) @import)])
(use_as_clause alias: (identifier) @never)
(use_wildcard [(identifier) @import (scoped_identifier name: (identifier) @import)])
; The parts of a path before its last, up to four.
(use_declaration (_ path: (identifier) @skip))
(use_list (_ path: (identifier) @skip))
(use_as_clause path: (_ path: (identifier) @skip))
(use_wildcard (_ path: (identifier) @skip))
(use_declaration (scoped_identifier path: (scoped_identifier (identifier) @never)))
(use_list (scoped_identifier path: (scoped_identifier (identifier) @never)))
(use_as_clause path: (scoped_identifier path: (scoped_identifier (identifier) @never)))
(use_wildcard (scoped_identifier path: (scoped_identifier (identifier) @never)))
(use_declaration (_ path: (scoped_identifier path: [(identifier) @skip (scoped_identifier (identifier) @never)])))
(use_declaration (_ path: (scoped_identifier path: (scoped_identifier path: [(identifier) @never (scoped_identifier (identifier) @never)]))))
(use_wildcard (scoped_identifier path: (scoped_identifier path: (scoped_identifier (identifier) @never))))
(extern_crate_declaration name: (identifier) @import)
(mod_item name: (identifier) @import !body)
(mod_item name: (identifier) @never body: (_))
(field_expression field: (field_identifier) @attribute)
(scoped_identifier name: (identifier) @attribute)
[(struct_expression) (struct_pattern)] @literal
(field_initializer field: (field_identifier) @key)
(shorthand_field_initializer (identifier) @key)
(field_pattern name: [(field_identifier) (shorthand_field_identifier)] @key)
(impl_item
  trait: [(type_identifier) @trait (scoped_type_identifier name: (_) @trait)
    (generic_type type: [(type_identifier) @trait (scoped_type_identifier name: (_) @trait)])]
  type: [(type_identifier) @implementer (scoped_type_identifier name: (_) @implementer)
    (generic_type type: [(type_identifier) @implementer (scoped_type_identifier name: (_) @implementer)])])
(lifetime (identifier) @never)
(label (identifier) @never)
(struct_item name: (type_identifier) @never)
(enum_item name: (type_identifier) @never)
(enum_variant name: (identifier) @never)
(union_item name: (type_identifier) @never)
(trait_item name: (type_identifier) @never)
(type_item name: (type_identifier) @never)
(associated_type name: (type_identifier) @never)
(type_parameter name: (type_identifier) @never)
(const_parameter name: (identifier) @never)
(function_item name: (identifier) @never)
(function_signature_item name: (identifier) @never)
(macro_definition name: (identifier) @never)
(const_item name: (identifier) @bound)
(static_item name: (identifier) @bound)
(parameter pattern: (identifier) @bound)
(closure_parameters (identifier) @bound)
(let_declaration pattern: (identifier) @bound)
(for_expression pattern: (identifier) @bound)
(match_pattern (identifier) @bound)
(let_condition pattern: (identifier) @bound)
(tuple_pattern (identifier) @bound)
(tuple_struct_pattern type: (_) (identifier) @bound)
(slice_pattern (identifier) @bound)
(reference_pattern (identifier) @bound)
(ref_pattern (identifier) @bound)
(mut_pattern (identifier) @bound)
(captured_pattern . (identifier) @bound)
(field_pattern pattern: (identifier) @bound)
(field_pattern name: (shorthand_field_identifier) @bound)
