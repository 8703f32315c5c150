defmodule Shop.Cart do
  @moduledoc """
  What a customer wants.
  """
  use Shop.Total

  @limit 99
  @type t :: %__MODULE__{owner: String.t()}
  @callback total(t) :: integer

  defstruct [:owner, items: []]

  @doc """
  Adds an item.
  """
  @spec add(t, Item.t()) :: {:ok, t} | :full
  def add(cart, item \\ nil)
  def add(cart, nil), do: {:ok, cart}

  def add(%{items: items}, _) when length(items) > @limit do
    :full
  end

  # What is no item.
  def add(_, item) when is_binary(item), do: raise(item)

  defp checked?(cart), do: output(cart)

  defmacro __using__(_opts) do
    quote do
      def empty, do: %Shop.Cart{}
    end
  end

  defguard is_full(items) when length(items) > 99
  defdelegate size(cart), to: Shop.Size

  defimpl Enumerable, for: Shop.Cart do
    def count(cart), do: {:ok, length(cart.items)}
  end
end

defprotocol Total do
  def total(cart)
end
