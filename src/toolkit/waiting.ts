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
}

export const waitingFor = (question: Question): Waiting => ({
  status: 'needs_person',
  approval_id: question.approvalId,
  how_to_approve: question.howToApprove,
  expires_at: new Date(question.expiresAtMs).toISOString(),
})
