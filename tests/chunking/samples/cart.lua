local Cart = {}
Cart.__index = Cart

--- Adds an item.
-- @param item what
function Cart:add(item, count)
  self.items[#self.items + 1] = item
end

function Cart.new(owner)
  return setmetatable({}, Cart)
end

-- Checks.
local function check(count)
  return count < 99
end

Cart.total = function(self) return 0 end

return { open = function() end }
