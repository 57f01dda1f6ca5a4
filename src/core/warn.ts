/** Warns of what nobody else would hear of; changes no outcome. */
export function warn(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error))
  } catch {
    // Node.js takes only errors of its own realm. A test under Jest has another one.
    process.emitWarning(String(error))
  }
}
