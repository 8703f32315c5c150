; JSX, in addition to ecmascript.scm. An element of a component is a call of it.
(jsx_opening_element name: [(identifier) @tag @skip (member_expression property: (property_identifier) @call)])
(jsx_self_closing_element name: [(identifier) @tag @skip (member_expression property: (property_identifier) @call)])
(jsx_closing_element name: [(identifier) @never (member_expression property: (property_identifier) @never)])
(jsx_closing_element name: (member_expression object: (identifier) @never))
