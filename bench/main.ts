import { parseArgs } from 'node:util'
import { databases } from './databases'
import { measure, type Measured } from './measure'
import { table } from './table'

const { values } = parseArgs({
  options: {
    db: { type: 'string', default: 'postgres,mariadb,sqlite' },
    rounds: { type: 'string', default: '11' },
    time: { type: 'string', default: '150' },
    json: { type: 'boolean', default: false },
  },
})

async function main(): Promise<void> {
  const results: Record<string, Measured[]> = {}
  for (const name of values.db.split(',')) {
    const open = databases[name]
    if (!open)
      throw new Error(`There is no database '${name}' – known are ${Object.keys(databases).join(', ')}.`)
    const target = await open(process.env[`${name.toUpperCase()}_URL`])
    try {
      results[name] = await measure(target.operations, Number(values.rounds), Number(values.time))
    } finally {
      await target.close()
    }
    if (!values.json) process.stdout.write(table(name, results[name]))
  }
  if (values.json) process.stdout.write(`${JSON.stringify(results)}\n`)
}

void main()
