/** What the pages connect to, or read from the environment, and what takes its place so that they run without a server. */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [
    /type: 'postgres',(.*\n *)url: process\.env\.DATABASE_URL!/,
    "type: 'better-sqlite3',$1database: 'app.sqlite'",
  ],
  [
    /import \{ PrismaPg \} from '@prisma\/adapter-pg'/,
    "import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'",
  ],
  [/new PrismaPg\(\{ connectionString \}\)/, "new PrismaBetterSqlite3({ url: 'file:app.sqlite' })"],
  [/process\.env\.RELEASED_AT!/, "'2026-11-21T20:00:00Z'"],
]

export function onAFile(program: string): string {
  return REPLACEMENTS.reduce((text, [server, file]) => text.replace(server, file), program)
}
