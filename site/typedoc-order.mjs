import { Converter } from 'typedoc'

/** What most people look for. */
const FIRST = ['LockingTaskExecutor', 'LockProvider', 'typeOrmLockProvider', 'shedlock', 'ShedLockModule']

/** The order of the pages of each entry point: these first, the others by their names. @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(
    Converter.EVENT_RESOLVE_END,
    ({ project }) => {
      for (const { groups = [] } of project.children ?? [])
        for (const { children } of groups) children.sort((one, other) => rank(one) - rank(other))
    },
    -1_000,
  )
}

/** @param {{ name: string }} member */
function rank({ name }) {
  const index = FIRST.indexOf(name)
  return index === -1 ? FIRST.length : index
}
