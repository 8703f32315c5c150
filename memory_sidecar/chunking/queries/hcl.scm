; Terraform and other HCL: the word before a block's labels says what kind of thing they name.
(block (identifier) @word . (string_lit (template_literal) @owner) . (string_lit (template_literal) @name) (body)? @body) @definition
(block (identifier) @word . (string_lit (template_literal) @name) . (block_start)) @definition
(block (identifier) @word . (block_start) . (body (attribute . (identifier) @name) @definition))
(comment) @lead
