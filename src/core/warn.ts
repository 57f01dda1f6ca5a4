/** Says what nobody else would hear of, without changing any outcome. */
export function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}
