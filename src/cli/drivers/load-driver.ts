import { createRequire } from 'node:module'
import { join } from 'node:path'
import { CommandError, ExitCode } from '../exit-code'

/**
 * Loads the first of these packages that the user's project has, itself or through one of the packages in `via`: with
 * pnpm a driver that only an adapter of Prisma depends on is not found from the project.
 */
export function loadDriver(
  packages: readonly string[],
  via: readonly string[],
): { name: string; exports: unknown } {
  const project = createRequire(join(process.cwd(), 'package.json'))
  const places = [project]
  for (const name of via) {
    try {
      places.push(createRequire(project.resolve(name)))
    } catch {
      continue
    }
  }
  for (const place of places) {
    for (const name of packages) {
      let path: string
      try {
        path = place.resolve(name)
      } catch {
        continue
      }
      return { name, exports: place(path) as unknown }
    }
  }
  throw new CommandError(
    ExitCode.database,
    `There is no driver for this database in ${process.cwd()} – install ${packages.map(packageOf).join(' or ')}, or use --data-source.`,
  )
}

/** `mysql2` of `mysql2/promise`: npm takes the latter for a repository on GitHub. */
function packageOf(path: string): string {
  return path.split('/')[0] ?? path
}
