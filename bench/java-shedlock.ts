import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Operation, Peer } from './operation'

export const JAVA = 'Java ShedLock: JDBC'
/** A plain read through the same client. */
const READ = 'JDBC'
const PROGRAM = join(__dirname, 'java/ShedLockOperations.java')

/** The JDBC driver of a database, and its options. Like the other clients, it does not encrypt on the loopback interface. */
const DRIVERS: Readonly<Record<string, readonly [driver: string, options: string]>> = {
  postgres: ['postgresql', '?sslmode=disable'],
  mariadb: ['mariadb', ''],
  mysql: ['mariadb', ''],
}

/** Java's ShedLock in a JVM of its own, which also measures the times. Nothing unless SHEDLOCK_CLASSPATH names its jars. */
export function javaShedLock(database: string, url: string, table: string): Peer[] {
  const classpath = process.env['SHEDLOCK_CLASSPATH']
  const driver = DRIVERS[database]
  if (!classpath || !driver) return []
  const { host, pathname, username, password } = new URL(url)
  const jdbc = `jdbc:${driver[0]}://${host}${pathname}${driver[1]}`
  const java = spawn('java', ['-cp', classpath, PROGRAM, jdbc, username, password, table], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(java, 'exit')
  const answers = createInterface(java.stdout)[Symbol.asyncIterator]()
  const microseconds = async (scenario: string, milliseconds: number): Promise<number[]> => {
    java.stdin.write(`${String(milliseconds)} ${scenario}\n`)
    const answer = await answers.next()
    if (answer.done) throw new Error('The JVM ended; what it said is above.')
    return answer.value.split(' ').map((nanoseconds) => Number(nanoseconds) / 1000)
  }
  return [
    {
      operations: (['read one row', 'win + release', 'lose'] as const).map((scenario): Operation => ({
        scenario,
        who: scenario === 'read one row' ? READ : JAVA,
        run: () => microseconds(scenario, 0),
        timed: (milliseconds) => microseconds(scenario, milliseconds),
      })),
      close: async () => {
        java.stdin.end()
        await exited
      },
    },
  ]
}
