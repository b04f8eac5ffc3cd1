import { NeedsPerson, type Question } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { asTyped, type WalletPlace } from './as-typed.ts'

/** What went wrong, or waits for a person, with its commands as they are typed here. Anything else stays what it is. */
export function typedWords(said: unknown, place: WalletPlace): unknown {
  if (said instanceof ToolFailure) {
    const { happened, next } = said.facts
    return new ToolFailure({ ...said.facts, happened: asTyped(happened, place), next: asTyped(next, place) })
  }
  return said instanceof NeedsPerson ? new NeedsPerson(typedQuestion(said.question, place)) : said
}

export const typedQuestion = (question: Question, place: WalletPlace): Question => ({
  ...question,
  howToApprove: asTyped(question.howToApprove, place),
  onNo: asTyped(question.onNo, place),
})
