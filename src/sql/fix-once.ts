interface Fixable {
  readonly message: string
  readonly fix: readonly string[]
}

/** Keeps only the first of equal statements, so that running all of them runs none twice. */
export function fixOnce<Finding extends Fixable>(findings: readonly Finding[]): Finding[] {
  const known = new Set<string>()
  return findings.map((finding) => {
    const fix = finding.fix.filter((statement) => !known.has(statement))
    for (const statement of fix) known.add(statement)
    if (fix.length > 0 || finding.fix.length === 0) return { ...finding, fix }
    return { ...finding, message: `${finding.message} The SQL above does it.`, fix }
  })
}
