import type { NoteAct } from '../store/account-ops.ts'

/** An operator's action as the audit log records it, without its time. Omitted members are null. */
export type Act = Pick<NoteAct, 'actor' | 'act'> &
  Partial<Pick<NoteAct, 'account' | 'subject' | 'reason'>> & { before?: object; after?: object }

const textOf = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value))

/** The audit log's row for an action, for the same unit of work. It must contain no secret. */
export const noteAct = ({ actor, act, account, subject, reason, before, after }: Act, atMs: number): NoteAct => ({
  op: 'act',
  ...{ actor, act, atMs },
  account: account ?? null,
  subject: subject ?? null,
  reason: reason ?? null,
  before: textOf(before),
  after: textOf(after),
})
