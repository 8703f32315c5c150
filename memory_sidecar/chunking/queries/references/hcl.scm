; HCL, where every name that a project defines is used as a member: `var.cidr`, `module.net.id`.
(variable_expr (identifier) @other)
(get_attr (identifier) @attribute)
(function_call . (identifier) @call)
(for_intro (identifier) @bound)
