import ts from 'typescript'

/** As `tsc -p`, but only of the files that the configuration names: what they import is checked with the sources. */
const [, , configuration] = process.argv
const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(configuration, {}, ts.sys)
const program = ts.createProgram(fileNames, options)
const found = [
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...fileNames.flatMap((name) => {
    const file = program.getSourceFile(name)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  }),
]
console.log(
  ts.formatDiagnostics(found, {
    getCurrentDirectory: () => process.cwd(),
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  }),
)
process.exitCode = found.length > 0 ? 1 : 0
