import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PLATFORM } from './other-node'

/** A runtime from npm's registry. */
export interface Runtime {
  readonly runtime: string
  /** As docs/runtimes.md has it, and as its `--version` begins. */
  readonly version: string
  readonly packages: readonly string[]
  /** Its program, in a project that has the packages. */
  readonly program: (project: string) => string
  readonly args: readonly string[]
}

/** How an app reaches its database: what docs/runtimes.md calls it, and the fixture that does so. */
export interface Client {
  readonly client: string
  readonly fixture: string
  readonly packages: readonly string[]
  /** What a runtime says that cannot load it. */
  readonly refusedBy?: Readonly<Record<string, RegExp>>
}

const node = (major: number): Runtime => ({
  ...{ runtime: 'Node.js', version: String(major), packages: [`node${major}@npm:node-${PLATFORM}@${major}`] },
  program: (project) => join(project, `node_modules/node${major}/bin/node`),
  args: [],
})

/** npm installs the one for this machine of the packages in a scope. */
function inScope(project: string, scope: string, path: string): string {
  const [name = ''] = readdirSync(join(project, 'node_modules', scope))
  return join(project, 'node_modules', scope, name, path)
}

export const RUNTIMES: readonly Runtime[] = [
  ...[20, 22, 24, 26].map(node),
  {
    ...{ runtime: 'Bun', version: '1.4', packages: ['bun@~1.4.5'] },
    program: (project) => inScope(project, '@oven', 'bin/bun'),
    args: [],
  },
  {
    ...{ runtime: 'Deno', version: '2.9', packages: ['deno@~2.9.6'] },
    program: (project) => inScope(project, '@deno', 'deno'),
    args: ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual'],
  },
]

const TYPEORM = 'typeorm@~1.1.1'
const PRISMA = ['prisma', '@prisma/client'].map((name) => `${name}@~7.10.0`)

export const CLIENTS: readonly Client[] = [
  { client: 'TypeORM 1.1, sql.js', fixture: 'typeorm-sqljs', packages: [TYPEORM, 'sql.js@1'] },
  {
    ...{ client: 'TypeORM 1.1, better-sqlite3', fixture: 'typeorm', packages: [TYPEORM] },
    refusedBy: {
      Bun: /'better-sqlite3' is not yet supported in Bun/,
      Deno: /Only Node-API .* are supported/,
    },
  },
  { client: 'TypeORM 1.1, PostgreSQL', fixture: 'typeorm-postgres', packages: [TYPEORM, 'pg@8'] },
  {
    ...{ client: 'Prisma 7.10, libsql', fixture: 'prisma-libsql' },
    packages: [...PRISMA, '@prisma/adapter-libsql@~7.10.0'],
  },
  {
    ...{ client: 'Prisma 7.10, PostgreSQL', fixture: 'prisma-postgres' },
    packages: [...PRISMA, '@prisma/adapter-pg@~7.10.0'],
  },
  {
    ...{ client: 'Prisma 7.10, Neon over HTTP', fixture: 'prisma-neon-http' },
    packages: [...PRISMA, '@prisma/adapter-neon@~7.10.0', 'pg@8', '@types/pg@8'],
  },
]

/** Cloudflare's runtime runs no programs: `fixtures/run-worker.mjs` bundles a Worker and calls it. */
export const WORKER = {
  ...{ runtime: 'workerd', client: 'Prisma 7.10, D1', fixture: 'prisma-d1' },
  packages: [...PRISMA, '@prisma/adapter-d1@~7.10.0', 'miniflare@4.20260730', 'esbuild@0.28'],
} as const
