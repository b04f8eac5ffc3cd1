import { displayUntil } from '#contract/time.ts'
import { attestations } from './attestations.ts'
import { framed, hiddenShown, strangeId } from './from-outside.ts'
import type { PersonAnswer, Question } from './person.ts'

/** The question itself, for the person: what would be done, what it costs, what follows, and a policy's text whole. */
export const sayQuestion = (question: Question, nowMs: number): string =>
  [
    question.asks,
    question.why,
    '',
    ...question.details.map(({ name, value }) => `${name}: ${value}`),
    ...policyOf(question),
    ...statementsOf(question),
    '',
    question.onYes,
    question.onNo,
    `The question ${question.approvalId} is open until ${displayUntil(question.expiresAtMs, nowMs)}.`,
  ].join('\n')

/** The same where nobody can be asked on the spot: what the assistant shows, and where the person approves. */
export function sayOpenQuestion(question: Question, toolName: string, nowMs: number): string {
  return [
    'A person has to decide before this goes on. Nothing was sent or charged.',
    'Show the person all of the following, word for word:',
    '',
    sayQuestion(question, nowMs),
    '',
    `${question.howToApprove} Only the person can do this; no argument of a tool can. Afterwards call ${toolName} again with the same arguments.`,
  ].join('\n')
}

/** Anything but a whole yes is a no. */
export function isYes(answer: PersonAnswer): boolean {
  if (answer.kind === 'approve') return answer.approved
  return answer.kind === 'consent' && answer.termsAndPrivacy && answer.legalRight && answer.screeningAcknowledged
}

/** What a yes says in the person's name, word for word. */
const statementsOf = ({ kind }: Question): string[] =>
  kind === 'consent'
    ? ['', 'A yes makes these three statements:', ...Object.values(attestations).map(statement => `- ${statement}`)]
    : []

const policyOf = (question: Question): string[] =>
  question.kind === 'consent'
    ? ['', framed(`policy of ${strangeId(question.provider)}, whole`, hiddenShown(question.policyText))]
    : []
