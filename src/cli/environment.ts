import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { wrongUsage } from './command-error'

/** The files in which a project's variables usually are, as Node.js, Prisma and frameworks look for them. */
const USUAL = ['.env', '.env.local', '.env.development', 'prisma/.env']

/** The first usual file of the current folder that sets one of these variables, other than to nothing. */
export function usualFileWith(names: readonly string[]): string | undefined {
  return USUAL.find((file) => {
    const values = valuesIn(file)
    return values instanceof Error ? false : names.some((name) => (values[name] ?? '') !== '')
  })
}

/** Sets the variables of a file, unless they are set, and returns them. */
export function readEnvironment(file: string): NodeJS.Dict<string> {
  const values = valuesIn(file)
  if (values instanceof Error)
    throw wrongUsage(`${file} cannot be read: ${values.message} – check the path of --env.`)
  for (const [name, value] of Object.entries(values)) process.env[name] ??= value
  return values
}

function valuesIn(file: string): NodeJS.Dict<string> | Error {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    return error as Error
  }
}
