import { numbered, type Driver } from './driver'

/** Azure's "the service has encountered an error processing your request"; and the severities that end the connection. */
const UNKNOWN_OUTCOME = ['40143', '40197', '40540']
const FATAL = 20

/** mssql; the placeholder is TypeORM's, other clients have their own. */
export const mssqlDriver: Driver = {
  placeholder: numbered('@', 0),
  // The driver's own errors have no number, or a text in its place.
  errorCode: (error) => {
    const {
      code,
      number,
      class: severity = 0,
    } = error as { code?: unknown; number?: unknown; class?: unknown }
    if (code !== 'EREQUEST' || typeof number !== 'number' || Number(severity) >= FATAL) return undefined
    return mssqlCode(String(number))
  },
}

/** @returns `undefined` for an error that does not tell what became of the statement */
export function mssqlCode(number: string): string | undefined {
  return UNKNOWN_OUTCOME.includes(number) ? undefined : number
}
