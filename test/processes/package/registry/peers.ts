/** What is installed for a fixture. The exact lowest version that package.json allows, and the newest ones. */
export interface PeerVersion {
  readonly fixture: string
  readonly version: string
  readonly packages: readonly string[]
  /** Its own declarations do not compile under TypeScript 6. */
  readonly skipLibCheck?: true
  readonly prismaSchema?: { readonly datasource: string }
}

const nest = (core: string, schedule: string, reflectMetadata = '0.2'): readonly string[] => [
  ...[`@nestjs/common@${core}`, `@nestjs/core@${core}`, `@nestjs/schedule@${schedule}`],
  ...[`reflect-metadata@${reflectMetadata}`, 'rxjs@7'],
]
const prisma = (version: string): readonly string[] => [
  ...['prisma', '@prisma/client', '@prisma/adapter-better-sqlite3'].map((name) => `${name}@${version}`),
  '@types/better-sqlite3@7',
]
/** Prisma 7 has the URL in its configuration instead. */
const withUrl = { datasource: 'url = "file:prisma.sqlite"' }
const withoutUrl = { datasource: '' }

export const PEER_VERSIONS: readonly PeerVersion[] = [
  { fixture: 'typeorm', version: 'lowest, 0.3.20', packages: ['typeorm@0.3.20'] },
  { fixture: 'typeorm', version: '0.3', packages: ['typeorm@0.3'] },
  { fixture: 'typeorm', version: 'newest, 1', packages: ['typeorm@1'] },
  { fixture: 'prisma', version: 'lowest, 6.16.0', packages: prisma('6.16.0'), prismaSchema: withUrl },
  { fixture: 'prisma', version: '6', packages: prisma('6'), prismaSchema: withUrl },
  { fixture: 'prisma', version: 'newest, 7', packages: prisma('7'), prismaSchema: withoutUrl },
  {
    fixture: 'nestjs',
    version: 'lowest, 10.0.0',
    packages: nest('10.0.0', '4.0.0', '0.1'),
    skipLibCheck: true,
  },
  { fixture: 'nestjs', version: '10', packages: nest('10', '5') },
  { fixture: 'nestjs', version: '11', packages: nest('11', '6') },
  { fixture: 'nestjs', version: 'newest, 12', packages: nest('12', '12') },
  { fixture: 'node-cron', version: 'lowest, 4.4', packages: ['node-cron@~4.4.0'] },
  { fixture: 'node-cron', version: 'newest, 4', packages: ['node-cron@4'] },
  {
    ...{ fixture: 'opentelemetry', version: 'lowest, 1.9.0' },
    packages: ['@opentelemetry/api@1.9.0', '@opentelemetry/sdk-metrics@2'],
  },
  {
    ...{ fixture: 'opentelemetry', version: 'newest, 1' },
    packages: ['@opentelemetry/api@1', '@opentelemetry/sdk-metrics'],
  },
]
