import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PLATFORM } from './other-node'

/** A runtime from npm's registry. */
export interface Runtime {
  readonly runtime: string
  /** As docs/works-with.md has it, and as its `--version` begins. */
  readonly version: string
  readonly packages: readonly string[]
  /** Its program, in a project that has the packages. */
  readonly program: (project: string) => string
  readonly args: readonly string[]
}

/** How an app reaches its database: what docs/works-with.md calls it, and the fixture that does so. */
export interface Client {
  readonly client: string
  readonly fixture: string
  readonly argument?: string
  readonly packages: readonly string[]
  /** What a runtime says that cannot load it. */
  readonly refusedBy?: Readonly<Record<string, RegExp>>
}

const node = (major: number): Runtime => ({
  ...{ runtime: 'Node.js', version: String(major), packages: [`node${major}@npm:node-${PLATFORM}@${major}`] },
  ...{ program: (project) => join(project, `node_modules/node${major}/bin/node`), args: [] },
})

/** npm installs the one for this machine of the packages in a scope. */
function inScope(project: string, scope: string, path: string): string {
  const [name = ''] = readdirSync(join(project, 'node_modules', scope))
  return join(project, 'node_modules', scope, name, path)
}

export const RUNTIMES: readonly Runtime[] = [
  ...[20, 22, 24, 26].map(node),
  {
    ...{ runtime: 'Bun', version: '1.4', packages: ['bun@~1.4.5'], args: [] },
    program: (project) => inScope(project, '@oven', 'bin/bun'),
  },
  {
    ...{ runtime: 'Deno', version: '2.9', packages: ['deno@~2.9.6'] },
    program: (project) => inScope(project, '@deno', 'deno'),
    args: ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual'],
  },
]

const typeOrm = (database: string, argument: string, ...packages: string[]): Client => ({
  ...{ client: `TypeORM 1.1, ${database}`, fixture: 'typeorm', argument },
  packages: ['typeorm@~1.1.1', ...packages],
})
const prisma = (database: string, fixture: string, adapter: string, ...packages: string[]): Client => ({
  ...{ client: `Prisma 7.10, ${database}`, fixture },
  packages: [
    ...['prisma', '@prisma/client', `@prisma/adapter-${adapter}`].map((name) => `${name}@~7.10.0`),
    ...packages,
  ],
})

export const CLIENTS: readonly Client[] = [
  typeOrm('sql.js', 'sqljs', 'sql.js@1'),
  {
    ...typeOrm('better-sqlite3', 'better-sqlite3'),
    refusedBy: {
      Bun: /'better-sqlite3' is not yet supported in Bun/,
      Deno: /Only Node-API .* are supported/,
    },
  },
  typeOrm('PostgreSQL', 'postgres', 'pg@8'),
  prisma('libsql', 'prisma-libsql', 'libsql'),
  prisma('PostgreSQL', 'prisma-postgres', 'pg'),
  prisma('Neon over HTTP', 'prisma-neon-http', 'neon', 'pg@8', '@types/pg@8'),
]

/** Cloudflare's runtime runs no programs: `fixtures/run-worker.mjs` bundles a Worker and calls it. */
export const WORKER = {
  ...prisma('D1', 'prisma-d1', 'd1', 'miniflare@4.20260730', 'esbuild@0.28'),
  runtime: 'workerd',
}
