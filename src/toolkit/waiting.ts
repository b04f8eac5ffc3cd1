import type { Question } from '#toolkit/person.ts'

/** The structured form of an answer that waits for a person, or that a person has declined. */
export interface Waiting {
  /** `needs_person`: nobody could be asked from here, or the question was closed without an answer. */
  status: 'needs_person' | 'declined'
  approval_id: string
  how_to_approve?: string
  /** When the question ends, or the no does. */
  expires_at?: string
}

/** Members of the output schema of every tool that may ask. */
export const waitingProperties = {
  status: { enum: ['needs_person', 'declined'] },
  approval_id: { type: 'string' },
  how_to_approve: { type: 'string' },
  expires_at: { type: 'string' },
}

/** Members of every tool's answer where it failed, in its output schema too: clients exist that hold one against the other. */
export const failureProperties = {
  next_step: { type: 'string' },
  retry_after_seconds: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
  service_said: { type: 'string' },
}

export const waitingFor = (question: Question): Waiting => ({
  status: 'needs_person',
  approval_id: question.approvalId,
  how_to_approve: question.howToApprove,
  expires_at: new Date(question.expiresAtMs).toISOString(),
})
