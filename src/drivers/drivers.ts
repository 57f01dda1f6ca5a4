import { dialects, type DialectName, type Driver } from '../sql/internal'

/** The driver for each database, by the name of its dialect. */
export const drivers = Object.fromEntries(
  Object.values(dialects).map(({ name, driver }) => [name, driver]),
) as Readonly<Record<DialectName, Driver>>
