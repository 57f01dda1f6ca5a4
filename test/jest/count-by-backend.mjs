/** The columns of the table. A test that names no ORM asks the database through TypeORM, or through the command line. */
export const COLUMNS = ['TypeORM', 'Prisma', 'other']

/**
 * What became of the tests of each backend, by ORM.
 *
 * @param {readonly string[]} backends the names that titles may have
 * @param {readonly { path: string, tests: readonly { ancestorTitles: string[], title: string, status: string }[] }[]} files
 */
export function countByBackend(backends, files) {
  const counts = new Map()
  for (const { path, tests } of files) {
    for (const { ancestorTitles, title, status } of tests) {
      const titles = [...ancestorTitles, title].join(' ')
      const backend = /\bon '?([\w-]+)/gi
      const names = [...titles.matchAll(backend)].map(([, name]) => name)
      const name = names.find((each) => backends.includes(each))
      if (name === undefined || !['passed', 'failed', 'pending'].includes(status)) continue
      const row = counts.get(name) ?? Object.fromEntries(COLUMNS.map((column) => [column, none()]))
      row[columnOf(path, titles)][status]++
      counts.set(name, row)
    }
  }
  return counts
}

const none = () => ({ passed: 0, failed: 0, pending: 0 })

function columnOf(path, titles) {
  const either = `${path} ${titles}`
  if (/prisma/i.test(either)) return 'Prisma'
  return /typeorm/i.test(either) ? 'TypeORM' : 'other'
}

/** Why tests were skipped, and how many: the title says it in brackets, or after a colon. */
export function reasonsToSkip(files) {
  const reasons = new Map()
  for (const { title, status } of files.flatMap(({ tests }) => tests)) {
    if (status !== 'pending') continue
    const reason = /\(([^()]+)\)$/.exec(title)?.[1] ?? /: ([^:]+)$/.exec(title)?.[1] ?? title
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  }
  return reasons
}
