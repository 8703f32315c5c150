; HCL, in which all that a project names is a member: `var.cidr`, `aws_vpc.this`, `module.net.id`.
(variable_expr (identifier) @other)
(get_attr (identifier) @attribute)
(function_call . (identifier) @call)
(for_intro (identifier) @bound)
