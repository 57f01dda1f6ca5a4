import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { wrongUsage } from './command-error'

/** The files in which a project's variables usually are, as Node.js and frameworks look for them. */
const USUAL = ['.env', '.env.local', '.env.development'] as const

/** The first usual file of the current folder that sets one of these variables, other than to nothing. */
export function usualFileWith(names: readonly string[]): string | undefined {
  return USUAL.find((file) => {
    if (!existsSync(file)) return false
    const values = parseEnv(readFileSync(file, 'utf8'))
    return names.some((name) => (values[name] ?? '') !== '')
  })
}

/**
 * Sets the variables of a file, unless they are set. `${NAME}` and `${NAME:-default}` in a value are replaced, as Prisma, Nest and
 * dotenv-expand do, but stay as they are if `NAME` is unknown: most variables of a file are not used.
 *
 * @returns the variables as the file means them
 */
export function readEnvironment(file: string): Readonly<Record<string, string>> {
  let values: NodeJS.Dict<string>
  try {
    values = parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrongUsage(`${file} cannot be read: ${(error as Error).message} – check the path of --env.`)
  }
  const environment = { ...process.env }
  const expanded = Object.keys(values).map((name) => [name, expand(values, environment, [name])] as const)
  for (const [name, value] of expanded) process.env[name] ??= value
  return Object.fromEntries(expanded)
}

/** @param names the variable, and before it those whose values refer to it */
function expand(
  values: NodeJS.Dict<string>,
  environment: NodeJS.ProcessEnv,
  names: readonly string[],
): string {
  const read = (name: string): string | undefined => {
    if (environment[name] !== undefined || values[name] === undefined) return environment[name]
    return names.includes(name) ? undefined : expand(values, environment, [...names, name])
  }
  return (values[names.at(-1) ?? ''] ?? '').replace(
    /(\\?)\$\{(\w+)(?::-([^}]*))?\}/g,
    (whole, escape: string, name: string, otherwise: string | undefined) =>
      escape === '' ? (read(name) ?? otherwise ?? whole) : whole.slice(1),
  )
}
