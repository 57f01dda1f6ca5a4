import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { installed, node, npm } from '../packed-package'

/** Who installs the newest of all has the newest compiler too. */
export const NEWEST_TYPESCRIPT = installed('typescript-7/bin/tsc')

export const MODULE_KINDS = ['commonjs', 'module'] as const

/**
 * A project of a user with these packages, resolved by npm as it does for everybody: a peer that does not fit is an error.
 * Nothing is built: what is native is linked from our own node_modules afterwards.
 */
export function newProject(
  project: string,
  packages: readonly string[],
  linked: readonly string[],
  type: (typeof MODULE_KINDS)[number] = 'commonjs',
): void {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type }))
  npm(project, 'install', '--prefer-offline', '--ignore-scripts', ...packages)
  for (const name of linked) {
    const link = join(project, 'node_modules', name)
    rmSync(link, { recursive: true, force: true })
    symlinkSync(installed(name), link, 'junction')
  }
}

/** Copies fixtures into a folder of the project. */
export function copyFixtures(project: string, folder: string, names: readonly string[]): void {
  for (const name of names) {
    const copy = join(project, folder, name)
    mkdirSync(dirname(copy), { recursive: true })
    copyFileSync(join(__dirname, 'fixtures', name), copy)
  }
}

/** Compiles fixtures as modules of each kind, in a folder of that name. The compiler reads the types of the packages once. */
export function compile(
  project: string,
  fixtures: readonly string[],
  options: object,
  compiler: string,
  kinds: readonly (typeof MODULE_KINDS)[number][] = MODULE_KINDS,
): void {
  const files = fixtures.map((name) => `${name}.ts`)
  for (const type of kinds) {
    copyFixtures(project, type, files)
    writeFileSync(join(project, type, 'package.json'), JSON.stringify({ type }))
  }
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', rootDir: '.', strict: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
    ...{ types: ['node'], typeRoots: [installed('@types')], ...options },
  }
  const all = kinds.flatMap((type) => files.map((file) => join(type, file)))
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: all }))
  node(project, compiler, '-p', 'tsconfig.json')
}

/** The client of a module of each kind, where its folder has it. */
const OF_EACH_KIND = {
  'commonjs/generated': 'moduleFormat = "cjs"\nimportFileExtension = "js"',
  'module/generated': 'moduleFormat = "esm"\nimportFileExtension = "js"',
}

/**
 * Generates clients with the model that the installed package has.
 *
 * @param more more clients: their folders, and the lines of their generators
 */
export function generatePrismaClients(
  project: string,
  provider: 'sqlite' | 'postgresql',
  datasource = '',
  more: Readonly<Record<string, string>> = {},
): void {
  const generators = Object.entries({ ...OF_EACH_KIND, ...more }).map(
    ([folder, lines], index) => `
generator client${index} {
  provider   = "prisma-client"
  engineType = "client"
  output     = "./${folder}/${provider}"
  ${lines}
}`,
  )
  const model = join(project, 'node_modules/shedlock-orm/prisma', provider, 'shedlock.prisma')
  const text = `${generators.join('\n')}
datasource db {
  provider = "${provider}"
  ${datasource}
}
${readFileSync(model, 'utf8')}`
  writeFileSync(join(project, 'schema.prisma'), text)
  // It looks for an engine before it does anything, and does not use it. Any file will do.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
  const generate = ['node_modules/prisma/build/index.js', 'generate', '--schema', 'schema.prisma']
  execFileSync(process.execPath, generate, { cwd: project, env, stdio: ['ignore', 'ignore', 'inherit'] })
}
