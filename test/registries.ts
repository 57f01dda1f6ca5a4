import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { flagOf, OPTIONS } from '../src/cli/options'
import { SCHEDULERS } from '../src/cli/init/usage'
import { CLIENT_DIALECTS } from '../src/prisma/prisma-client'
import { dialects } from '../src/sql/dialects'
import { servers } from './backends/servers'
import { EVENTS } from './core/recorder'
import { FAKE_CLIENTS } from './drivers/fake-clients'
import { ADAPTERS } from './prisma/adapters'
import { read, root } from './project'

// For a new member of one of these kinds, the failures name every place that needs it. Objects with a key for each member are left
// out, because without it they do not compile.

const filesUnder = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending) && !/node_modules|generated|docs\/api/.test(file))
    .map((file) => join(folder, file))

/** All pages as one text, because a member may move from one page to another. */
const pages = ['README.md', ...filesUnder('docs', '.md')]
  .filter((file) => !/^docs.(api|maintainers)/.test(file))
  .map(read)
  .join('\n')
const tests = filesUnder('test', '.test.ts').map(read).join('\n')
const isOnAPage = (name: string): boolean => pages.includes(`\`${name}\``) || pages.includes(`'${name}'`)

const published = read('test/processes/package/published-files.txt')
const golden = (name: string): string => (name === 'mariadb' ? 'mysql' : name)
interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>
}
const { devDependencies, exports } = JSON.parse(read('package.json')) as Manifest & {
  readonly exports: Readonly<Record<string, unknown>>
}
const examples = JSON.parse(read('test/processes/examples/package.json')) as Manifest
const runs = JSON.parse(read('docs/works-with.json')) as { schedulers: object }
/** The text below a heading of the second level. */
const section = (page: string, heading: string): string =>
  new RegExp(`\n## ${heading}\n(.*?)(\n## |$(?![^]))`, 's').exec(read(page))?.[1] ?? ''
const lists = (file: string, name: string): boolean => new RegExp(`^  ${name}: `, 'm').test(read(file))
/** How a database is called there. */
const spelled = (name: string): string | undefined =>
  new RegExp(`^  ${name}: '([^'(,]+\\w)`, 'm').exec(read('scripts/write-works-with.mjs'))?.[1]
const isRun = (name: string): boolean =>
  !Object.values(dialects).some((dialect) => dialect.name === name && dialect.untried)

const testsOfCommands = filesUnder('test/cli', '.test.ts').map(read).join('\n')
/** Whether it contains the flag of this option, and not only a longer one. */
const hasFlag = (text: string, option: string): boolean =>
  new RegExp(`${flagOf(option)}(?![\\w-])`).test(text)

/** Objects of options in the reports of the public interface: interfaces with such a name, and literals of a parameter. */
const OBJECT =
  /^export interface \w+(?:Options|Configuration)\b.*?^}|(?<=[(, ])(?<!readonly )options\??: \{.*?^ *}\)/gms
/** Arguments of an error that somebody else's provider creates. They are not checked. */
const OF_ERRORS = ['cause', 'lockName']
export const OPTIONS_IN_CODE = [
  ...new Set(
    filesUnder('api', '.txt')
      .flatMap((file) => [...read(file).matchAll(OBJECT)])
      .flatMap(([object]) => {
        // What is further to the right is part of the value of an option.
        const [indent = ''] = /(?<=\n) +/.exec(object) ?? []
        return [...object.matchAll(new RegExp(`^${indent}readonly ([a-z]\\w*)\\??:`, 'gim'))]
      })
      .map(([, name = '']) => name)
      .filter((name) => !OF_ERRORS.includes(name)),
  ),
]

const METRICS = 'src/opentelemetry/open-telemetry-listener.ts'

interface Kind {
  readonly members: readonly string[]
  /** Whether a place has a member, by what has to be done there. */
  readonly places: Readonly<Record<string, (name: string) => boolean>>
}

export const KINDS: Readonly<Record<string, Kind>> = {
  dialect: {
    members: Object.keys(dialects),
    places: {
      'its SQL in test/sql/golden: npm run generate': (name) =>
        existsSync(join(root, `test/sql/golden/${golden(name)}.sql`)),
      'its migration: npm run generate': (name) => existsSync(join(root, `migrations/${name}/up.sql`)),
      'a server in test/backends/servers.ts, or a client in test/drivers/fake-clients.ts': (name) =>
        name === 'sqlite' || name in FAKE_CLIENTS || servers.some(({ dialect }) => dialect === name),
      'a server that tests run on, unless it is `untried`': (name) =>
        name === 'sqlite' || !isRun(name) || servers.some(({ dialect }) => dialect === name),
      'a grammar in test/sql/grammar.test.ts, if it is `untried`': (name) =>
        isRun(name) || lists('test/sql/grammar.test.ts', name),
      'its name in DATABASES of scripts/write-works-with.mjs': (name) => spelled(name) !== undefined,
      'its name in .github/ISSUE_TEMPLATE/bug.yml': (name) =>
        read('.github/ISSUE_TEMPLATE/bug.yml').includes(`        - ${spelled(name)}\n`),
    },
  },
  'error code': {
    members: [...read('src/core/errors.ts').matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code = '']) => code),
    places: {
      'a line in the comment of LockErrorCode in src/core/errors.ts': (code) =>
        read('src/core/errors.ts').includes(`\n * - \`${code}\` `),
      'a page of docs that says what to do': isOnAPage,
      'a test that expects it': (code) => tests.includes(`'${code}'`),
    },
  },
  event: {
    members: EVENTS,
    places: {
      'a page of docs that says when it comes': isOnAPage,
      'everyEvent of test/core/every-event.ts, whose events test/core/listener.test.ts lists': (event) =>
        read('test/core/listener.test.ts').includes(`'${event}'`),
      'a metric or a span in src/opentelemetry, or why not': (event) =>
        event === 'onLockNotAcquired' ||
        filesUnder('src/opentelemetry', '.ts').some((file) => read(file).includes(event)),
    },
  },
  metric: {
    members: [...read(METRICS).matchAll(/^ \* \| `(shedlock\.[\w.]+)`/gm)].map(([, name = '']) => name),
    places: { 'a page of docs': (name) => pages.includes(name) },
  },
  'entry point': {
    members: Object.keys(exports).filter((path) => path !== './package.json'),
    places: {
      'its interface in api: npm run generate': (path) =>
        existsSync(join(root, 'api', `shedlock-orm${path.slice(1).replace('/', '.')}.txt`)),
      'its files in test/processes/package/published-files.txt': (path) =>
        ['js', 'mjs', 'd.mts'].every((ending) =>
          published.includes(`dist/${path === '.' ? 'core' : path.slice(2)}/index.${ending}\n`),
        ),
      'an import on a page of docs': (path) => pages.includes(`'shedlock-orm${path.slice(1)}'`),
    },
  },
  'option in code': {
    members: OPTIONS_IN_CODE,
    places: {
      'a page of docs': (name) => new RegExp(`[\`{(,]\\s?${name}\\b|\\b${name}(\`|: | \\})`).test(pages),
    },
  },
  'option of the command line': {
    members: Object.keys(OPTIONS),
    places: {
      'a page of docs, such as docs/cli.md': (name) => hasFlag(pages, name),
      'a test in test/cli, which passes it to a command': (name) => hasFlag(testsOfCommands, name),
    },
  },
  scheduler: {
    members: Object.keys(SCHEDULERS),
    places: {
      'a version that is installed here or in test/processes/examples': (name) =>
        [devDependencies, examples.devDependencies].some((installed) => name in installed),
      'what its slot is made from, in "Slots" of docs/schedulers.md': (name) =>
        new RegExp(`\\*\\*\`?${name}\\b`, 'i').test(section('docs/schedulers.md', 'Slots')),
      'a line in "Who else may call" of docs/schedulers.md': (name) =>
        new RegExp(`^- \\*\\*\`?${name}\\b`, 'im').test(section('docs/schedulers.md', 'Who else may call')),
      'a run in docs/works-with.json: npm run test:examples -- --json --outputFile=x.json && npm run works-with x.json':
        (name) => Object.keys(runs.schedulers).some((key) => new RegExp(`^\`?${name}\\b`, 'i').test(key)),
      'a program catch-up-… in docs/guides/recipes.md or test/processes/examples/described': (name) =>
        // Its jobs are those of the package cron.
        name === '@nestjs/schedule' ||
        read('docs/guides/recipes.md').includes(`// catch-up-${name}.ts`) ||
        existsSync(join(root, `test/processes/examples/described/catch-up-${name}.ts`)),
    },
  },
  'adapter of Prisma': {
    members: Object.keys(devDependencies)
      .filter((name) => name.startsWith('@prisma/adapter-'))
      .map((name) => name.slice('@prisma/adapter-'.length)),
    places: {
      'ADAPTERS of test/prisma/adapters.ts': (name) => ADAPTERS.some((adapter) => adapter.name === name),
    },
  },
  'provider of Prisma': {
    members: [...new Set(ADAPTERS.map(({ provider }) => provider))],
    places: {
      'CLIENT_DIALECTS of src/prisma/prisma-client.ts': (name) => name in CLIENT_DIALECTS,
      'its model: npm run generate': (name) => existsSync(join(root, 'prisma', name, 'shedlock.prisma')),
    },
  },
}

/** Returns a sentence for each of these members that the place lacks. */
export function lacking(kind: string, place: string, members = KINDS[kind]?.members ?? []): string[] {
  const has = KINDS[kind]?.places[place]
  return members.filter((name) => !has?.(name)).map((name) => `The ${kind} ${name} lacks ${place}.`)
}
