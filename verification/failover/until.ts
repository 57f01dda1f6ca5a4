import { eventually } from '../../test/eventually'

/** Waits until the condition is true. @throws if it is not true within a minute */
export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const attempt = async (): Promise<void> => {
    if (!(await isTrue())) throw new Error(`waited in vain: ${what}`)
  }
  await eventually(attempt, { timeout: 60_000, interval: 20 })
}
