// A host that makes every call of the client once, and prints what came back.
using System;
using System.Linq;
using System.Threading.Tasks;

public static class Host
{
    public static int Main(string[] arguments)
    {
        Run(arguments[0], arguments[1], arguments[2]).GetAwaiter().GetResult();
        return 0;
    }

    private static async Task Run(string program, string data, string source)
    {
        var sidecar = new MemorySidecar(data, program);
        double[] warm = null;
        for (var attempt = 0; warm == null && attempt < 12; attempt++) // five seconds each, at most
            warm = await sidecar.WarmUpAsync();
        Console.WriteLine("embed " + warm.Length);
        Console.WriteLine("search before " + (await sidecar.SearchAsync("total price", 3) == null));
        Console.WriteLine("index " + (await sidecar.IndexAsync(source)).FilesProcessed);
        var code = await sidecar.SearchAsync("total price of a cart", 3);
        Console.WriteLine("search " + code[0].Filename + " " + (code[0].Score > code[1].Score));
        var text = "- Totals are \"cents\" \\ ¢, not euros";
        var stored = await sidecar.StoreAsync(text, "a", "pitfall", new[] { "area:cart" });
        Console.WriteLine("store " + (stored.Id > 0) + " " + stored.Path);
        var memory = (await sidecar.QueryAsync("how are totals kept", "a", 1)).Single();
        Console.WriteLine("query " + (memory.Content == text) + " " + memory.Tags["area"]
            + " " + (DateTimeOffset.UtcNow - memory.StoredAt < TimeSpan.FromHours(1)));
        Console.WriteLine("put " + (await sidecar.PutAsync("- The bank refuses twice", "a", "Bank")).Ok);
        var journal = await sidecar.RecallAsync("what does the bank refuse", "a", 1);
        Console.WriteLine("recall " + journal.Hits[0].Title + " " + journal.Hits[0].Text);
        Console.WriteLine("commit " + (await sidecar.CommitAsync("a")).Ok);
        var all = await Task.WhenAll(Enumerable.Range(0, 40).Select(_ => sidecar.CommitAsync("a")));
        Console.WriteLine("at once " + all.All(done => done.Ok));
        var absent = new MemorySidecar(data, "no-such-program");
        Console.WriteLine("absent " + (await absent.EmbedAsync("x") == null));
    }
}
