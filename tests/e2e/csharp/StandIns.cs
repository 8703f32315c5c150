// What the client of docs/host-csharp.md takes from CliWrap and System.Text.Json, as little of it as
// that needs, for the compiler and runtime of Mono, which have neither.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Text.Json.Serialization;
using System.Threading;
using System.Threading.Tasks;

namespace CliWrap
{
    public enum CommandResultValidation { None }

    public sealed class PipeSource
    {
        internal byte[] Bytes;
        public static PipeSource FromString(string text, Encoding encoding) =>
            new PipeSource { Bytes = encoding.GetBytes(text) };
    }

    public sealed class Variables
    {
        internal readonly Dictionary<string, string> Set_ = new Dictionary<string, string>();
        public void Set(string name, string value) { Set_[name] = value; }
    }

    public static class Cli
    {
        public static Command Wrap(string program) => new Command(program);
    }

    public sealed class Command
    {
        internal readonly ProcessStartInfo Start;
        internal PipeSource Input;

        internal Command(string program)
        {
            Start = new ProcessStartInfo(program)
            {
                UseShellExecute = false,
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
            };
        }

        public Command WithArguments(IEnumerable<string> arguments)
        {
            Start.Arguments = string.Join(" ", arguments.Select(Quoted));
            return this;
        }

        public Command WithEnvironmentVariables(Action<Variables> set)
        {
            var environment = new Variables();
            set(environment);
            foreach (var each in environment.Set_) Start.EnvironmentVariables[each.Key] = each.Value;
            return this;
        }

        public Command WithStandardInputPipe(PipeSource source)
        {
            Input = source;
            return this;
        }

        public Command WithValidation(CommandResultValidation validation) => this;

        private static string Quoted(string word) =>
            "\"" + word.Replace("\\", "\\\\").Replace("\"", "\\\"") + "\"";
    }
}

namespace CliWrap.Buffered
{
    public sealed class BufferedCommandResult
    {
        public int ExitCode;
        public string StandardOutput;
        public string StandardError;
    }

    public static class Buffering
    {
        public static async Task<BufferedCommandResult> ExecuteBufferedAsync(
            this Command command, Encoding encoding, CancellationToken cancellation)
        {
            command.Start.StandardOutputEncoding = command.Start.StandardErrorEncoding = encoding;
            using (var process = Process.Start(command.Start))
            using (cancellation.Register(process.Kill))
            {
                process.StandardInput.BaseStream.Write(command.Input.Bytes, 0, command.Input.Bytes.Length);
                process.StandardInput.Close();
                var errors = process.StandardError.ReadToEndAsync();
                var output = await process.StandardOutput.ReadToEndAsync();
                var result = new BufferedCommandResult
                {
                    StandardOutput = output,
                    StandardError = await errors,
                };
                process.WaitForExit();
                cancellation.ThrowIfCancellationRequested();
                result.ExitCode = process.ExitCode;
                return result;
            }
        }
    }
}

namespace System.Text.Json.Serialization
{
    public sealed class JsonPropertyNameAttribute : Attribute
    {
        public readonly string Name;
        public JsonPropertyNameAttribute(string name) { Name = name; }
    }
}

namespace System.Text.Json
{
    public static class JsonSerializer
    {
        public static T Deserialize<T>(string text)
        {
            var reader = new Reader(text);
            var value = (T)Made(typeof(T), reader.Value());
            reader.End();
            return value;
        }

        private static object Made(Type type, object value)
        {
            if (value == null) return null;
            if (type == typeof(DateTimeOffset))
                return DateTimeOffset.Parse((string)value, CultureInfo.InvariantCulture);
            if (type.IsArray)
            {
                var items = (List<object>)value;
                var array = Array.CreateInstance(type.GetElementType(), items.Count);
                for (var at = 0; at < items.Count; at++)
                    array.SetValue(Made(type.GetElementType(), items[at]), at);
                return array;
            }
            var named = value as Dictionary<string, object>;
            if (named == null) return Convert.ChangeType(value, type, CultureInfo.InvariantCulture);
            if (type == typeof(Dictionary<string, string>))
                return named.ToDictionary(each => each.Key, each => (string)each.Value);
            var made = Activator.CreateInstance(type);
            foreach (var field in type.GetFields())
            {
                var name = field.GetCustomAttribute<JsonPropertyNameAttribute>().Name;
                field.SetValue(made, Made(field.FieldType, named[name]));
            }
            return made;
        }

        private sealed class Reader
        {
            private readonly string _text;
            private int _at;

            public Reader(string text) { _text = text; }

            public void End()
            {
                if (Next() != '\0') throw new FormatException("more than one document");
            }

            public object Value()
            {
                switch (Next())
                {
                    case '{':
                        var named = new Dictionary<string, object>();
                        Each('}', () => { var name = (string)Value(); Take(':'); named[name] = Value(); });
                        return named;
                    case '[':
                        var items = new List<object>();
                        Each(']', () => items.Add(Value()));
                        return items;
                    case '"':
                        return Text();
                    default:
                        return Word();
                }
            }

            private char Next()
            {
                while (_at < _text.Length && char.IsWhiteSpace(_text[_at])) _at++;
                return _at < _text.Length ? _text[_at] : '\0';
            }

            private void Take(char expected)
            {
                if (Next() != expected) throw new FormatException("no " + expected + " at " + _at);
                _at++;
            }

            private void Each(char end, Action item)
            {
                _at++;
                if (Next() != end)
                {
                    item();
                    while (Next() == ',') { _at++; item(); }
                }
                Take(end);
            }

            private string Text()
            {
                var text = new StringBuilder();
                for (_at++; _text[_at] != '"'; _at++)
                {
                    if (_text[_at] != '\\') { text.Append(_text[_at]); continue; }
                    var kind = _text[++_at];
                    if (kind == 'u')
                    {
                        text.Append((char)Convert.ToInt32(_text.Substring(_at + 1, 4), 16));
                        _at += 4;
                    }
                    else text.Append("bfnrt".IndexOf(kind) < 0 ? kind : "\b\f\n\r\t"["bfnrt".IndexOf(kind)]);
                }
                _at++;
                return text.ToString();
            }

            private object Word()
            {
                var start = _at;
                while (_at < _text.Length && "+-.".IndexOf(_text[_at]) + 1 + (char.IsLetterOrDigit(_text[_at]) ? 1 : 0) > 0) _at++;
                var word = _text.Substring(start, _at - start);
                if (word == "null") return null;
                if (word == "true" || word == "false") return word == "true";
                return double.Parse(word, CultureInfo.InvariantCulture);
            }
        }
    }
}
