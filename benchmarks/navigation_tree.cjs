// node navigation_tree.cjs NODE_MODULES < PATHS: for each file what an editor shows as its outline,
// by TypeScript's own parser: a line {"file", "found": [[name, kind, line from 1], …]}.
const ts = require(process.argv[2] + '/typescript')
const fs = require('fs')

for (const file of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const text = fs.readFileSync(file, 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const lineOf = (span) => source.getLineAndCharacterOfPosition(span.start).line + 1
  const host = {
    fileExists: () => false,
    getCompilationSettings: () => ({ allowJs: true, noLib: true, noResolve: true }),
    getCurrentDirectory: () => '/',
    getDefaultLibFileName: () => '',
    getScriptFileNames: () => [file],
    getScriptSnapshot: () => ts.ScriptSnapshot.fromString(text),
    getScriptVersion: () => '1',
    readFile: () => undefined,
  }
  const mode = ts.LanguageServiceMode.Syntactic
  const found = []
  const walk = (node) => {
    if (node.nameSpan) found.push([node.text, node.kind, lineOf(node.nameSpan)])
    for (const span of node.spans.slice(1)) found.push([node.text, 'overload', lineOf(span)])
    for (const child of node.childItems || []) walk(child)
  }
  const tree = ts.createLanguageService(host, undefined, mode).getNavigationTree(file)
  for (const child of tree.childItems || []) walk(child)
  console.log(JSON.stringify({ file, found }))
}
