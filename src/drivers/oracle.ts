import { numbered, type Driver } from './driver'

/** oracledb; a lost connection has a code of the driver's own, NJS-500. */
export const oracleDriver: Driver = {
  placeholder: numbered(':', 1),
  errorCode: (error) => /^ORA-\d+/.exec(String((error as { code?: unknown }).code))?.[0],
}
