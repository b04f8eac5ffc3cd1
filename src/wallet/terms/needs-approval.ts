import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { maxNameLength, maxPurposeLength } from '../limits.ts'

/** What only a person decides, as data. The text of a policy stands here whole, as the service sent it. */
export type ApprovalFacts =
  | {
      kind: 'consent'
      provider: string
      policyText: string
      policyVersion: string
      docsUrl: string
      faceMediaRoles: readonly string[]
    }
  /** `amountMicroUsd` is null where the call cannot be priced beforehand. */
  | { kind: 'spend'; what: string; amountMicroUsd: MicroUsd | null; because: string }
  | { kind: 'payee'; origin: string; network: string; asset: string; payTo: string; amountMicroUsd: MicroUsd }

export interface ApprovalQuestion {
  approvalId: string
  facts: ApprovalFacts
  /** What `questionInShort` says of the facts. */
  inShort: string
  /** Where it can be answered without the assistant, in one sentence. */
  howToApprove: string
  expiresAtMs: number
}

/** Thrown before anything is signed: a row waits for a person's answer, bound to this very request. */
export class NeedsApproval extends Error {
  override readonly name = 'NeedsApproval'
  readonly question: ApprovalQuestion

  constructor(question: ApprovalQuestion) {
    const { facts, inShort, approvalId, howToApprove } = question
    const because = facts.kind === 'spend' ? `. ${facts.because.replace(/\.$/, '')}` : ''
    super(`A person has to decide: ${inShort}${because} (${approvalId}). ${howToApprove}`)
    this.question = question
  }
}

/**
 * What is bought, the price and who gets it, in a few words for a list, a log or a message: everywhere the same. Of a
 * stranger's words no more than a name; a policy's text is only ever shown whole.
 */
export function questionInShort(facts: ApprovalFacts): string {
  switch (facts.kind) {
    case 'spend': {
      const what = onOneLine(facts.what.replace(/\.$/, ''), maxPurposeLength)
      return facts.amountMicroUsd === null
        ? `${what}, at a price that is not known beforehand`
        : `${what} for ${displayUsd(facts.amountMicroUsd)}`
    }
    case 'payee':
      return `${displayUsd(facts.amountMicroUsd)} to an address that was not paid before, ${nameOf(facts.payTo)}`
    case 'consent':
      return `the policy of ${nameOf(facts.provider)}, version ${nameOf(facts.policyVersion)}`
  }
}

const nameOf = (text: string): string => onOneLine(text, maxNameLength)

/** Without what a terminal would obey. */
const onOneLine = (text: string, mostCharacters: number): string =>
  text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, mostCharacters)
    .toWellFormed()
