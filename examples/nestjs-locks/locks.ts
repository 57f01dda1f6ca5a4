import * as standIn from './stand-in'

/** What this example uses of `@nestjs/locks`. */
type Locks = typeof standIn

/** The package itself where it is installed; an app of yours imports it. */
function load(): Locks {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- it may not be there
    return require('@nestjs/locks') as Locks
  } catch {
    console.log('@nestjs/locks is not installed: a stand-in made after its documentation is used')
    return standIn
  }
}

export const { LocksModule, LocksStorage, OnOneInstance } = load()
