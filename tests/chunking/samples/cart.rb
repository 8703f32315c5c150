require "json"

module Shop
  MAX_ITEMS = 99

  # What a customer wants.
  class Cart < Base
    attr_reader :owner

    # Adds an item.
    # It may fail.
    def add(item, count: 1)
      @items << item
    end

    def self.open(id)
      new(id)
    end

    def empty? = @items.empty?
  end
end

class Shop::Money
  def to_s; "" end
end
