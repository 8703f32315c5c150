; Elixir: `alias Shop.Rates, as: R`.
(call target: (identifier) @by (arguments . (alias) @name (keywords (pair value: (alias) @alias))))
