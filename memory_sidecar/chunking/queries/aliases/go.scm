; Go. `import tax "github.com/x/rates/v2"`
(import_spec name: (package_identifier) @alias
  path: [
    (interpreted_string_literal (interpreted_string_literal_content) @name)
    (raw_string_literal (raw_string_literal_content) @name)])
