/** Which tests are run on the mutants of which files, and on which backends. */
export interface Group {
  readonly name: string
  readonly files: RegExp
  /** Globs. Without tests that start processes, read the project's sources, or take minutes. */
  readonly tests: readonly string[]
  readonly backends: string
}

export const groups: readonly Group[] = [
  {
    name: 'core',
    files: /^src\/core\/(?!in-memory)/,
    tests: [
      'test/core/!(memory|process-end).test.ts',
      'test/node-cron/shed-lock-coordinator.test.ts',
      'test/options/*.test.ts',
      'test/sql/execute-once.test.ts',
      'test/testing/unit-test-support.test.ts',
    ],
    backends: 'sqlite',
  },
  {
    name: 'in-memory',
    files: /^src\/core\/in-memory/,
    tests: ['test/conformance/in-memory.test.ts', 'test/core/@(memory|shutdown|slot|wait).test.ts'],
    backends: 'sqlite',
  },
  {
    name: 'lock-table',
    // Where the table is depends on the schema of a session, which SQLite does not have.
    files: /^src\/sql\/lock-table\./,
    tests: [
      'test/sql/@(calls|pool|privileges|sql-lock-provider).test.ts',
      'test/conformance/session-schema.test.ts',
      'test/drivers/databases-without-a-server.test.ts',
    ],
    backends: 'sqlite,postgres',
  },
  {
    name: 'sql-text',
    files: /^src\/sql\/((dialect|expressions|sql)\.|dialects\/(index|\w+\/lock)\.)/,
    tests: [
      'test/sql/@(columns-and-values|credentials|find-lock|golden|hostile-configuration|invalid-times|beside-java).test.ts',
      'test/drivers/databases-without-a-server.test.ts',
    ],
    backends: 'sqlite',
  },
  {
    name: 'sql-table',
    files: /^src\/sql\/(names\.|table\/|dialects\/\w+\/table\.)/,
    tests: [
      'test/sql/@(find-lock|golden|hostile-configuration|beside-java|pause|privileges|table-*).test.ts',
      'test/drivers/databases-without-a-server.test.ts',
    ],
    backends: 'sqlite,postgres,mariadb',
  },
  {
    name: 'guards',
    files: /^src\/(sql|typeorm|prisma)\/guard\./,
    tests: [
      'test/@(typeorm|prisma)/guard.test.ts',
      'test/drivers/guard-without-an-orm.test.ts',
      'test/testing/guarded-jobs.test.ts',
    ],
    backends: 'sqlite,postgres',
  },
  {
    name: 'sql',
    files: /^src\/sql\/(?!(dialect|driver|expressions|guard|lock-table|names|sql)\.|dialects\/|table\/)/,
    tests: [
      'test/sql/!(grammar|hostile-*|migrations).test.ts',
      'test/conformance/@(last-run|unlock).test.ts',
      'test/drivers/@(server-errors|databases-without-a-server).test.ts',
    ],
    backends: 'sqlite',
  },
  {
    name: 'drivers',
    files: /^src\/(drivers\/|sql\/(driver\.|dialects\/\w+\/driver\.))/,
    tests: [
      'test/drivers/*.test.ts',
      'test/conformance/@(character-sets|mysql-sessions).test.ts',
      'test/typeorm/mysql-statement.test.ts',
    ],
    backends: 'sqlite,postgres,mariadb',
  },
  {
    name: 'typeorm',
    files: /^src\/typeorm\/(?!guard)/,
    tests: [
      'test/typeorm/!(guard).test.ts',
      'test/conformance/passed-client.test.ts',
      'test/drivers/@(databases-without-a-server|named-statements|server-errors|unsent-statements).test.ts',
      'test/conformance/@(character-sets|mysql-sessions).test.ts',
      'test/sql/@(columns-and-values|pool|sqlite-file).test.ts',
    ],
    backends: 'sqlite,postgres,mariadb',
  },
  {
    name: 'prisma',
    files: /^src\/prisma\/(?!guard)/,
    tests: [
      'test/prisma/!(guard|process-end).test.ts',
      'test/conformance/passed-client.test.ts',
      'test/drivers/named-statements.test.ts',
      'test/options/refusals.test.ts',
      'test/sql/migrations.test.ts',
    ],
    backends: 'sqlite,postgres,mariadb',
  },
]
