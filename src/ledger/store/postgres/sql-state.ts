/** What an error of the database means, by its SQLSTATE alone: severity and message come in the language of the server. */

/** An error that the database itself told. */
export type DatabaseError = Error & { code: string; table?: string }

/** Errors of the system have codes of five letters as well (EPIPE), and a number beside them. */
const isDatabaseError = (error: unknown): error is DatabaseError =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^[0-9A-Z]{5}$/.test(error.code) &&
  !('errno' in error)

/**
 * The connection is lost, or was never made: connection errors, the server's end, a session that it ended, too many
 * connections, a role or a database that is not there.
 */
const lostConnection = /^(08|57P|28|3D|53300|25P03|25P04)/

/** Whether the database refused a statement, so that nothing of it was kept; the connection goes on, but for a panic. */
export const isStatementError = (error: unknown): error is DatabaseError =>
  isDatabaseError(error) && !lostConnection.test(error.code)

/** A write was refused because the database has become a standby: another one is the primary now. */
export const isNoPrimary = ({ code }: DatabaseError): boolean => code === '25006'

/** Deadlock, conflict, time or locks run out: they say nothing about the units. */
const transientCodes = new Set(['40P01', '40001', '55P03', '57014', '53200'])

export const isTransient = (error: unknown): boolean => isStatementError(error) && transientCodes.has(error.code)

const checkViolation = '23514'
const uniqueViolation = '23505'
/** Raised by the trigger that keeps entries as they are. */
export const entryChangeRefused = 'FB002'

/** A rule of the tables refused a row. A unit checks before it writes, so sound rows never meet one. */
export const isBrokenRule = (error: unknown): boolean =>
  isDatabaseError(error) &&
  (error.code === checkViolation ||
    error.code === entryChangeRefused ||
    (error.code === uniqueViolation && error.table === 'entry'))
