import { expect, test } from '@jest/globals'
import { documents } from '../documentation/documents'
import { read } from '../project'
import { runCli } from './built-cli'

const texts = documents().map(read)

const BLOCK = /^ *```(.*?)\n(.*?)^ *```$/gms

/** The lines of shell, YAML and unnamed blocks, and what stands between backticks. */
const code = texts.flatMap((text) => [
  ...[...text.matchAll(BLOCK)]
    .filter(([, language = '']) => ['', 'sh', 'yaml'].includes(language))
    .flatMap(([, , block = '']) => block.replace(/\\\n */g, '').split('\n')),
  ...[...text.replace(BLOCK, '').matchAll(/(`+)(.+?)\1/gs)].map(([, , span = '']) =>
    span.replaceAll('\n', ' '),
  ),
])

/** What stands behind `shedlock-orm`, up to what belongs to another command. */
const commands = [
  ...new Set(
    code.flatMap((line) => {
      const [, command] = /(?:^|\$ |npx |\.bin\/|command: )shedlock-orm ([a-z].*)/.exec(line) ?? []
      return command === undefined ? [] : [(command.split(/ -- | [|>&]/)[0] ?? '').trim()]
    }),
  ),
]

test.each([...new Set(commands.map((command) => command.split(' ')[0] ?? ''))])(
  'shedlock-orm %s is known to the command line, with the options that the documentation gives it',
  async (name) => {
    const { status, stdout } = await runCli([name, '--help'])
    expect(status).toBe(0)
    // An unknown command prints the help of all.
    expect(stdout).toContain(`Usage: shedlock-orm ${name} `)
    const words = commands.map((command) => command.split(' ')).filter(([first]) => first === name)
    const options = new Set(words.flat().filter((word) => word.startsWith('-')))
    const unknown = [...options].filter((option) => !new RegExp(`(^|[ ,])${option}[ ,\n]`, 'm').test(stdout))
    expect(unknown).toEqual([])
  },
)
