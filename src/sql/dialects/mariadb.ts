import type { Dialect } from '../dialect'
import { mysql } from './mysql'

/** For the lock MariaDB and MySQL are one, so it does not matter which of the two names a client gives. */
export const mariadb: Dialect = { ...mysql, name: 'mariadb' }
