import initSqlJs from 'sql.js'
import { drivers, sqlClient } from 'shedlock-orm/drivers'
import { dialects, SqlLockProvider, type StatementResult } from 'shedlock-orm/sql'
import type { Answer } from './instance'

// The database that the instances share: SQLite in its own worker, behind a simulated network.

export interface Wanted {
  readonly cut: boolean
  /** The URL of SQLite, sent with the first message. */
  readonly wasm?: string
  /** The connection of an instance that is starting. */
  readonly connect?: MessagePort
}

type Value = string | number | null
type Run = (text: string, values: Value[]) => Promise<StatementResult>

/** In milliseconds. */
const SLOWEST_NETWORK = 30
let cut = false
let opened: Promise<{ run: Run; provider: SqlLockProvider }>

async function open(wasm: string): typeof opened {
  const database = new (await initSqlJs({ locateFile: () => wasm })).Database()
  const run: Run = (text, values) =>
    new Promise((resolve) => {
      const statement = database.prepare(text)
      const rows: Record<string, Value>[] = []
      try {
        statement.bind(values)
        while (statement.step()) rows.push(statement.getAsObject())
      } finally {
        statement.free()
      }
      resolve({ rows, changed: database.getRowsModified() })
    })
  const provider = new SqlLockProvider(sqlClient(drivers.sqlite, run), dialects.sqlite)
  await provider.table.create()
  return { run, provider }
}

function throughTheNetwork(callback: () => unknown): void {
  setTimeout(() => !cut && callback(), Math.random() * SLOWEST_NETWORK)
}

self.onmessage = ({ data: wanted }: MessageEvent<Wanted>) => {
  cut = wanted.cut
  if (wanted.wasm) opened = open(wanted.wasm)
  const { connect } = wanted
  if (!connect) return
  connect.onmessage = ({
    data: { id, text, values },
  }: MessageEvent<{ id: number; text: string; values: Value[] }>) => {
    throughTheNetwork(async () => {
      const { run, provider } = await opened
      const answer: Answer = await run(text, values).then(
        (result) => ({ id, result }),
        (error: unknown) => ({ id, error: String(error) }),
      )
      throughTheNetwork(() => {
        connect.postMessage(answer)
      })
      postMessage(await provider.table.find('send-report'))
    })
  }
}
