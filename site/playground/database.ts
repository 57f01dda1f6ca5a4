import initSqlJs from 'sql.js'
import { drivers, sqlClient } from 'shedlock-orm/drivers'
import { dialects, SqlLockProvider, type StatementResult } from 'shedlock-orm/sql'
import type { Answer, Statement } from './connection'

// The database that the instances share: SQLite in its own worker, behind a simulated network.

export interface Wanted {
  readonly cut: boolean
  /** The program of SQLite, sent with the first message. */
  readonly wasm?: ArrayBuffer
  /** The connection of an instance that is starting. */
  readonly connect?: MessagePort
}

type Row = Record<string, Statement['values'][number]>
type Run = (text: string, values: Statement['values']) => Promise<StatementResult>

/** In milliseconds. */
const SLOWEST_NETWORK = 30
let cut = false
let opened: Promise<{ run: Run; provider: SqlLockProvider }>

async function open(wasmBinary: ArrayBuffer): typeof opened {
  const database = new (await initSqlJs({ wasmBinary })).Database()
  const run: Run = (text, values) =>
    new Promise((resolve) => {
      const statement = database.prepare(text)
      const rows: Row[] = []
      try {
        statement.bind(values)
        while (statement.step()) rows.push(withFileName(statement.getAsObject()))
      } finally {
        statement.free()
      }
      resolve({ rows, changed: database.getRowsModified() })
    })
  const provider = new SqlLockProvider(sqlClient(drivers.sqlite, run), dialects.sqlite)
  await provider.table.create()
  return { run, provider }
}

/** Names the database file as an app would: sql.js gives it a random number, which the operators' page would show. */
const withFileName = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === 'string' && value.startsWith('/dbfile_') ? '/app.sqlite' : value,
    ]),
  )

/** Shows the row to the page. The first time, there is none yet. */
async function showRow(): Promise<void> {
  const { provider } = await opened
  postMessage(await provider.table.find('send-report'))
}

function throughTheNetwork(callback: () => unknown): void {
  setTimeout(() => !cut && callback(), Math.random() * SLOWEST_NETWORK)
}

self.onmessage = ({ data: wanted }: MessageEvent<Wanted>) => {
  cut = wanted.cut
  if (wanted.wasm) {
    opened = open(wanted.wasm)
    void showRow()
  }
  const { connect } = wanted
  if (!connect) return
  connect.onmessage = ({ data: { id, text, values } }: MessageEvent<Statement>) => {
    throughTheNetwork(async () => {
      const { run } = await opened
      const answer: Answer = await run(text, values).then(
        (result) => ({ id, result }),
        (error: unknown) => ({ id, error: String(error) }),
      )
      throughTheNetwork(() => {
        connect.postMessage(answer)
      })
      await showRow()
    })
  }
}
