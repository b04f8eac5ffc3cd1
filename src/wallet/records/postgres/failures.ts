import { WalletRefusal } from '../../terms/refusal.ts'

/** Thrown where the journal does not answer, or answers that it cannot just now: the same decision may be made again. */
export class JournalAway extends Error {
  /** A code of the system or the database, never their words: these may repeat the address or a signed payment. */
  readonly code: string

  constructor(code: string) {
    super(`The journal is away (${code}).`)
    this.code = code
  }
}

/** SQLSTATEs of a lost connection, a server that starts, ends, fails or has no room, or that is a standby. */
const away = /^(08|57P|28|3D|53|58|XX|25006|25P03|25P04)/
/** A lock that was waited for too long, a deadlock, a conflict. */
const busy = /^(40|55P03|57014)/

/** What an error of the driver means: away, or a step that the tables do not allow. Its own words go no further. */
export function readFailure(error: unknown): JournalAway | WalletRefusal {
  const code = codeOf(error)
  const isFromDatabase = /^[0-9A-Z]{5}$/.test(code) && error instanceof Error && 'severity' in error
  if (!isFromDatabase || away.test(code) || busy.test(code)) return new JournalAway(code)
  return code === insufficientPrivilege ? noRight() : refusedStep(code)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'no answer'
}

export const journalAway = (code: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'journal-away',
    sentence: `The wallet's journal in PostgreSQL does not answer (${code}), and nothing is signed without it.`,
    nextStep: 'Try again once the database is back; whoever runs it checks FAREBOX_JOURNAL_URL.',
  })

export const unusableJournal = (why: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'state',
    sentence: `The wallet's journal in PostgreSQL cannot be used: ${why}. Nothing is signed without it.`,
    nextStep,
  })

const refusedStep = (code: string): WalletRefusal =>
  unusableJournal(`it refused a step (SQLSTATE ${code})`, 'Look at the log of the database.')

const insufficientPrivilege = '42501'

const noRight = (): WalletRefusal =>
  unusableJournal(
    'its role may not make or use the tables',
    'Grant it CREATE on the database, or let its owner start the wallet once.',
  )
