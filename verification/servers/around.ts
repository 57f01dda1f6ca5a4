/** Runs a step before the work, and a step that undoes it afterwards, even if the work fails. */
export async function around(
  before: () => unknown,
  work: () => unknown,
  after: () => unknown,
): Promise<void> {
  await before()
  try {
    await work()
  } finally {
    await after()
  }
}
