/** What the pages connect to, and the SQLite file that takes its place so that they run without a server. */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [
    /type: 'postgres',(.*\n *)url: process\.env\.DATABASE_URL!/,
    "type: 'better-sqlite3',$1database: 'app.sqlite'",
  ],
  [
    /import \{ PrismaPg \} from '@prisma\/adapter-pg'/,
    "import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'",
  ],
  [
    /new PrismaPg\(\{\s+connectionString: process\.env\.DATABASE_URL,[^}]*\}\)/,
    "new PrismaBetterSqlite3({ url: 'file:app.sqlite' })",
  ],
]

export function onAFile(program: string): string {
  return REPLACEMENTS.reduce((text, [server, file]) => text.replace(server, file), program)
}
