/** A fixture, and what is installed for it: the exact lowest version that package.json allows, or the newest ones. */
export interface Peer {
  readonly fixture: string
  readonly version: string
  readonly packages: readonly string[]
}

/** A user's project with several peers, which npm installs together. */
export interface PeerProject {
  readonly peers: readonly Peer[]
  /** Declarations of its own do not compile under TypeScript 6. */
  readonly skipLibCheck?: true
  /** Prisma 7 has the URL in its configuration instead. */
  readonly datasource?: string
}

const peer = (fixture: string, version: string, ...packages: string[]): Peer => ({
  ...{ fixture, version, packages },
})
const nest = (core: string, schedule: string, reflectMetadata = '0.2'): string[] => [
  ...[`@nestjs/common@${core}`, `@nestjs/core@${core}`, `@nestjs/schedule@${schedule}`],
  ...[`reflect-metadata@${reflectMetadata}`, 'rxjs@7'],
]
const prisma = (version: string): string[] => [
  ...['prisma', '@prisma/client', '@prisma/adapter-better-sqlite3'].map((name) => `${name}@${version}`),
  '@types/better-sqlite3@7',
]
const withUrl = 'url = "file:prisma.sqlite"'

export const PROJECTS: readonly PeerProject[] = [
  {
    peers: [
      peer('typeorm', 'lowest, 0.3.20', 'typeorm@0.3.20'),
      peer('node-cron', 'lowest, 4.4', 'node-cron@~4.4.0'),
      peer('opentelemetry', 'lowest, 1.9.0', '@opentelemetry/api@1.9.0', '@opentelemetry/sdk-metrics@2'),
    ],
  },
  { peers: [peer('nestjs', 'lowest, 10.0.0', ...nest('10.0.0', '4.0.0', '0.1'))], skipLibCheck: true },
  {
    peers: [
      peer('typeorm', '0.3', 'typeorm@0.3'),
      peer('prisma', '6', ...prisma('6')),
      peer('nestjs', '10', ...nest('10', '5')),
    ],
    datasource: withUrl,
  },
  {
    // Not beside TypeORM 0.3.20, which wants an older better-sqlite3.
    peers: [peer('prisma', 'lowest, 6.16.0', ...prisma('6.16.0')), peer('nestjs', '11', ...nest('11', '6'))],
    datasource: withUrl,
  },
  {
    peers: [
      peer('typeorm', 'newest, 1', 'typeorm@1'),
      peer('prisma', 'newest, 7', ...prisma('7')),
      peer('nestjs', 'newest, 12', ...nest('12', '12')),
      peer('node-cron', 'newest, 4', 'node-cron@4'),
      peer('opentelemetry', 'newest, 1', '@opentelemetry/api@1', '@opentelemetry/sdk-metrics'),
    ],
  },
]
