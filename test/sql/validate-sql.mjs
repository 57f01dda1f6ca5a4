// Says which of the statements on its input the grammar does not know. A process of its own: Jest has no dynamic import.
import { readFileSync } from 'node:fs'
import { init, validate } from '@guanmingchiu/sqlparser-ts'

const refusal = ({ text, grammar }) => {
  try {
    validate(text, grammar)
    return null
  } catch (error) {
    return error.message
  }
}
init().then(() => {
  process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(refusal)))
})
