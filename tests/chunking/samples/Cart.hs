module Shop.Cart (Cart, add) where

import qualified Data.Map as Map

-- | What a customer wants.
data Cart = Cart { owner :: String, items :: [Item] }

newtype Count = Count Int
type Carts = [Cart]

class Total a where
  -- | The sum.
  total :: a -> Int

instance Total Cart where
  total cart = length (items cart)

-- | Adds an item.
add :: Item -> Cart -> Cart
add Nothing cart = cart
add item cart = cart { items = item : items cart }
  where checked = item

limit = 99
