import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { wrongUsage } from './command-error'
import type { Project } from './project'

/** The files in which a project's variables usually are, as Node.js, Prisma and frameworks look for them. */
const USUAL = ['.env', '.env.local', '.env.development', 'prisma/.env']

/** The first usual file of the project that sets one of these variables, other than to nothing or to what has to be expanded. */
export function usualFileWith(project: Project, ...names: readonly string[]): string | undefined {
  return USUAL.find((file) => {
    const values = parseEnv(project.read(file))
    return names.some((name) => /^[^$]+$/.test(values[name] ?? ''))
  })
}

/** Sets the variables of a file, unless they are set, and returns them. */
export function readEnvironment(file: string): NodeJS.Dict<string> {
  try {
    const values = parseEnv(readFileSync(file, 'utf8'))
    for (const [name, value] of Object.entries(values)) process.env[name] ??= value
    return values
  } catch (error) {
    throw wrongUsage(`${file} cannot be read: ${(error as Error).message} – check the path of --env.`)
  }
}
