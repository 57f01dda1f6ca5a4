import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import ts from 'typescript'

// Compiles every part of the project in one process, and each file only once. Prints the same errors as `tsc -p` for each part.

/** The parts that have a tsconfig.json of their own, and the folder whose packages each needs. */
const PARTS = [
  { project: 'tsconfig.json' },
  { project: 'test/nestjs/tsconfig.json' },
  { project: 'test/nestjs/standard/tsconfig.json' },
  { project: 'test/processes/page/tsconfig.json', packages: 'test/processes/page' },
  { project: 'test/processes/terminal/tsconfig.json', packages: 'test/processes/terminal' },
  { project: 'bench/tsconfig.json', packages: 'bench' },
  { project: 'examples/tsconfig.check.json', packages: 'test/processes/examples' },
  { project: 'examples/sql-clients/tsconfig.json', packages: 'examples/sql-clients' },
  { project: 'site/tsconfig.json', packages: 'site' },
]
const sourceFiles = new Map()
const checked = new Set()
const format = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => process.cwd(),
  getNewLine: () => '\n',
}

/** @returns the errors of a part */
function compile(project) {
  const path = resolve(project)
  const { config, error } = ts.readConfigFile(path, ts.sys.readFile)
  if (error) return [error]
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(
    config,
    ts.sys,
    dirname(path),
    undefined,
    path,
  )
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  host.getSourceFile = (name, how, ...more) => {
    const key = `${name} ${options.module} ${how.impliedNodeFormat}`
    if (!sourceFiles.has(key)) sourceFiles.set(key, read(name, how, ...more))
    return sourceFiles.get(key)
  }
  const program = ts.createProgram(fileNames, { ...options, noEmit: true }, host)
  // Files that were checked as part of another project are not checked again.
  const own = fileNames.filter((name) => !checked.has(name)).map((name) => program.getSourceFile(name))
  for (const name of fileNames) checked.add(name)
  return [
    ...errors,
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ]
}

let failed = false
for (const { project, packages } of PARTS) {
  if (packages && !existsSync(`${packages}/node_modules`)) {
    console.log(`${project} was not compiled – first run npm --prefix ${packages} install`)
    // CI installs the packages of all parts, so a missing one is an error there.
    failed ||= Boolean(process.env.CI)
    continue
  }
  const errors = compile(project)
  failed ||= errors.length > 0
  process.stdout.write(ts.formatDiagnostics(errors, format))
}
process.exitCode = failed ? 1 : 0
