import { displayUsd } from '#contract/money.ts'
import { addressCharacters } from './bounds.ts'
import { framed, hiddenShown, strangeId } from './from-outside.ts'
import type { ConsentQuestion, PersonAnswer, Question } from './person.ts'

/** The question itself, for the person: what would be done, and a policy's text whole. */
export function sayQuestion(question: Question): string {
  switch (question.kind) {
    case 'consent':
      return sayConsent(question)
    case 'spend':
      return `Approve this? ${question.what}, ${question.amountMicroUsd === null ? 'at a price that is not known beforehand' : `for ${displayUsd(question.amountMicroUsd)}`}. It is asked because ${question.because}.`
    case 'payee':
      return `Approve a payee that was not paid before? ${displayUsd(question.amountMicroUsd)} to ${strangeId(question.payTo)} for credit at ${strangeId(question.origin)}. Compare the address with the one that the service publishes.`
  }
}

/** The same where nobody can be asked on the spot: what the assistant shows, and where the person approves. */
export function sayOpenQuestion(question: Question, toolName: string): string {
  return [
    'A person has to decide before this goes on. Nothing was sent or charged.',
    'Show the person all of the following, word for word:',
    '',
    sayQuestion(question),
    '',
    `Approval id: ${question.approvalId}, open until ${new Date(question.expiresAtMs).toISOString()}.`,
    `${question.howToApprove} Only the person can do this; no argument of a tool can. Afterwards call ${toolName} again with the same arguments.`,
  ].join('\n')
}

/** Anything but a whole yes is a no. */
export function isYes(answer: PersonAnswer): boolean {
  if (answer.kind === 'approve') return answer.approved
  return answer.kind === 'consent' && answer.termsAndPrivacy && answer.legalRight && answer.screeningAcknowledged
}

function sayConsent(question: ConsentQuestion): string {
  const roles = question.faceMediaRoles.map(role => strangeId(role.replaceAll('_', ' '))).join(', ')
  const provider = strangeId(question.provider)
  return [
    `A face may be in the media of this request (${roles || 'not said where'}), so ${provider} needs your consent to its policy, version ${strangeId(question.policyVersion)}.`,
    framed(`policy of ${provider}, whole`, hiddenShown(question.policyText)),
    `More: ${strangeId(question.docsUrl, addressCharacters)}`,
  ].join('\n')
}
