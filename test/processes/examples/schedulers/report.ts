/** Stands for a reader's task, and is shorter than the others are late. */
export async function sendReport(signal?: AbortSignal): Promise<void> {
  await Promise.resolve(signal)
}
