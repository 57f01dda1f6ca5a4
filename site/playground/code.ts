import source from './instance.ts?raw'
import type { Settings } from './instance'

/** The values that the visitor may choose, and each value as code. */
const CHOICES: { [Name in keyof Settings]: readonly (readonly [value: Settings[Name], code: string])[] } = {
  takes: [800, 3_000, 8_000].map((value) => [value, String(value)] as const),
  lockAtMostFor: ['2s', '5s', '10s'].map((value) => [value, `'${value}'`] as const),
  lockAtLeastFor: ['0s', '1s', '1800ms'].map((value) => [value, `'${value}'`] as const),
  slot: [
    [false, 'undefined'],
    [true, '(cron) => slotOf(cron)'],
  ],
  lock: [
    [true, 'executor.wrap(lock, sendReport)'],
    [false, 'sendReport'],
  ],
}

export interface Piece {
  readonly text: string
  /** The value that follows the text. */
  readonly name?: keyof Settings
  readonly choices?: readonly (readonly [value: unknown, code: string])[]
}

/** The source of the end of `start` in instance.ts, split at the values. */
export const code: readonly Piece[] = source
  .slice(source.indexOf('  const executor'))
  .split('\n}', 1)
  .join()
  .replace('set.lock ? executor.wrap(lock, sendReport) : sendReport', 'set.lock')
  .replace('set.due', 'set.slot')
  .replace('return new', 'new')
  .replaceAll(/^ {2}/gm, '')
  .split(/(?=set\.)/)
  .flatMap((text) => {
    const name = /^set\.(\w+)/.exec(text)?.[1] as keyof Settings | undefined
    return name === undefined
      ? [{ text }]
      : [{ text: '', name, choices: CHOICES[name] }, { text: text.slice(4 + name.length) }]
  })
