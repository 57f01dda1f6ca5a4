import { readFileSync } from 'node:fs'
import { codeToTokens } from 'shiki'
import type { Settings } from './state'

/** The values that the visitor may choose, and each value as code. */
const CHOICES: { [Name in keyof Settings]: readonly (readonly [value: Settings[Name], code: string])[] } = {
  takes: [800, 3_000, 8_000].map((value) => [value, String(value)] as const),
  lockAtMostFor: ['2s', '5s', '10s'].map((value) => [value, `'${value}'`] as const),
  lockAtLeastFor: ['0s', '1s', '1800ms'].map((value) => [value, `'${value}'`] as const),
  keepAlive: [false, true].map((value) => [value, String(value)] as const),
  slot: [
    [false, 'undefined'],
    [true, '(cron) => slotOf(cron)'],
  ],
  lock: [
    [true, 'executor.wrap(lock, sendReport)'],
    [false, 'sendReport'],
  ],
}

/** A piece of the code: text with its colours, or a value to choose. */
export interface Piece {
  readonly text: string
  readonly style?: string | Record<string, string> | undefined
  readonly name?: keyof Settings
  readonly choices?: readonly (readonly [value: unknown, code: string])[]
}

export declare const data: readonly Piece[]

/** The code in instance.ts that the page shows: the end of `schedule`, with the visitor's values in place of `set.…`. */
export default {
  async load(): Promise<readonly Piece[]> {
    const source = readFileSync(new URL('instance.ts', import.meta.url), 'utf8')
    const code = source
      .slice(source.indexOf('  const executor'))
      .split('\n}', 1)
      .join()
      .replace('set.lock ? executor.wrap(lock, sendReport) : sendReport', 'set.lock')
      .replace('return new', 'new')
      .replaceAll(/^ {2}/gm, '')
      .replaceAll('set.', 'set_')
    const themes = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' }
    const { tokens } = await codeToTokens(code, { lang: 'ts', themes, defaultColor: false })
    return tokens.flatMap((line, index) => [
      ...(index > 0 ? [{ text: '\n' }] : []),
      ...line.flatMap(({ content, htmlStyle }) =>
        content.split(/(?=set_)|(?<=set_\w+)(?!\w)/).map((text): Piece => {
          const name = /^set_(\w+)$/.exec(text)?.[1] as keyof Settings | undefined
          return name ? { text: '', name, choices: CHOICES[name] } : { text, style: htmlStyle }
        }),
      ),
    ])
  },
}
