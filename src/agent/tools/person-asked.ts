import type { PersonAnswer, Question } from '#toolkit/approval.ts'

/** Asks whoever decides; a program's own answer counts as the person's who wrote it. */
export type AskPerson = (question: Question) => PersonAnswer | Promise<PersonAnswer>
