/** SQLite's extended result codes of rules: CHECK, a trigger's RAISE, and UNIQUE. */
const constraintCheck = 275
const constraintTrigger = 1811
const constraintUnique = 2067

/** A rule of the tables refused a row. A unit checks before it writes, so sound rows never meet one. */
export function isBrokenRule(error: unknown): boolean {
  if (!(error instanceof Error && 'errcode' in error)) return false
  const { errcode, message } = error
  if (errcode === constraintCheck) return true
  // Which rule or trigger it was stands in the message alone; SQLite speaks one language, and the trigger ours.
  if (errcode === constraintTrigger) return message.includes('append-only')
  return errcode === constraintUnique && message.includes('entry.ref')
}
