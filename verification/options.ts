import { parseArgs, type ParseArgsConfig } from 'node:util'

/** Thrown for arguments that are not understood. */
export class WrongUsage extends Error {}

/** The options of several harnesses. */
export const COMMON = {
  minutes: { type: 'string' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  fault: { type: 'string', multiple: true, default: [] },
  orm: { type: 'string', multiple: true },
  /** The file for the events, which `npm run judge` judges again. */
  keep: { type: 'string' },
} as const satisfies ParseArgsConfig['options']

/** @throws WrongUsage */
export function parse<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new WrongUsage((error as Error).message)
  }
}

/** @throws WrongUsage */
export const oneOf =
  <T extends string>(known: readonly T[]) =>
  (value: string): T => {
    const found = known.find((each) => each === value)
    if (found === undefined) throw new WrongUsage(`'${value}' is not one of ${known.join(', ')}.`)
    return found
  }

/** @throws WrongUsage */
export function number(value: string): number {
  const parsed = Number(value.replaceAll('_', ''))
  if (!(parsed >= 0)) throw new WrongUsage(`'${value}' is not a number.`)
  return parsed
}

/** Runs a harness with the arguments of its command. Prints its usage instead if they are not understood. */
export async function runHarness(
  usage: string,
  main: (args: readonly string[]) => Promise<void>,
): Promise<void> {
  try {
    await main(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof WrongUsage)) throw error
    console.error(`${error.message}\n\n${usage}`)
    process.exitCode = 64
  }
}
