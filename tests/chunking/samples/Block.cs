namespace Shop
{
    namespace Inner
    {
        public struct Point { public int X, Y; }

        internal static class Program
        {
            private static void Main(string[] args) => Run();
        }
    }
}
