namespace Shop.Stock
{
    /// <summary>How much of everything lies in the warehouse.</summary>
    public class Inventory
    {
        private readonly Dictionary<string, int> _levels = new();

        /// <summary>Puts goods aside for an order; false when there are too few.</summary>
        public bool Reserve(string sku, int count)
        {
            if (_levels.GetValueOrDefault(sku) < count) return false;
            _levels[sku] -= count;
            return true;
        }

        public void Restock(string sku, int count) =>
            _levels[sku] = _levels.GetValueOrDefault(sku) + count;
    }
}
