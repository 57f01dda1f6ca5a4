import { eventually } from '../../eventually'

/** @throws when that does not come true within a minute */
export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const attempt = async (): Promise<void> => {
    if (!(await isTrue())) throw new Error(`waited in vain: ${what}`)
  }
  await eventually(attempt, { timeout: 60_000, interval: 20 })
}
