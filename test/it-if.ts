import { it } from '@jest/globals'

/** `it`, or where the condition does not hold a skipped test whose title says what it needs. */
export function itIf(holds: boolean, needs: string) {
  return (title: string, run: () => Promise<void>): void => {
    if (holds) it(title, run)
    else it.skip(`${title} (needs ${needs})`, () => undefined)
  }
}

/** `it` on a backend that has one of these dialects. */
export const itOn = ({ dialect }: { readonly dialect: string }, ...dialects: readonly string[]) =>
  itIf(dialects.includes(dialect), dialects.join(' or '))
