import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { displaySpan } from '#contract/time.ts'
import { networkName } from '#contract/wire/networks.ts'
import * as limits from '../limits.ts'
import { type AskedAbout, type AskedFile, named, quoted } from './about-call.ts'

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

export type ConsentFacts = Extract<ApprovalFacts, { kind: 'consent' }>

export interface ApprovalQuestion extends QuestionWords {
  approvalId: string
  facts: ApprovalFacts
  /** Where it can be answered without the assistant, in one sentence. */
  howToApprove: string
  expiresAtMs: number
}

/** Thrown before anything is signed: a row waits for a person's answer, bound to this very request. */
export class NeedsApproval extends Error {
  override readonly name = 'NeedsApproval'
  readonly question: ApprovalQuestion

  constructor(question: ApprovalQuestion) {
    super(`A person has to decide: ${question.inShort} (${question.approvalId}).`)
    this.question = question
  }
}

/** One thing that a person should know, on a line of its own. */
interface QuestionDetail {
  name: string
  value: string
}

/** A question in words, the same wherever it is asked. Words of others are in it as names and quotations alone. */
interface QuestionWords {
  /** For a list, a log or a message. */
  inShort: string
  /** What is asked, one sentence. */
  asks: string
  /** Why a person is asked, one sentence or two. */
  why: string
  details: readonly QuestionDetail[]
  /** What follows from either answer, and for how long. */
  onYes: string
  onNo: string
}

/** Which question it is, beside its facts. */
interface QuestionContext {
  about: AskedAbout | null
  /** Of the service; null in a row of an earlier version. */
  origin: string | null
  /** What takes a no back. */
  command: string
}

export function questionWords(facts: ApprovalFacts, context: QuestionContext): QuestionWords {
  return {
    inShort: questionInShort(facts, context),
    ...leading(facts, context),
    details: detailsOf(facts, context),
    onNo: `No: nothing is sent or charged, and the same request is refused for ${displaySpan(limits.denialLifeMs)}. In that time only a person can take the no back, with \`${context.command}\` in a terminal.`,
  }
}

function leading(facts: ApprovalFacts, { about }: QuestionContext): Pick<QuestionWords, 'asks' | 'why' | 'onYes'> {
  const life = displaySpan(limits.approvalLifeMs)
  switch (facts.kind) {
    case 'spend':
      return {
        asks: `May this be bought${forPrice(facts.amountMicroUsd, about)}?`,
        why: facts.because,
        onYes: `Yes: it is bought, once. The yes serves this very request, for ${life}.`,
      }
    case 'payee':
      return {
        asks: `May ${displayUsd(facts.amountMicroUsd)} be paid to an address that was not paid before?`,
        why: 'This address was never approved. Compare it with the one that the service publishes.',
        onYes: 'Yes: it is paid, and this address may be paid later too, within the caps, without another question.',
      }
    case 'consent':
      return {
        asks: `Do you consent to the policy of ${nameOf(facts.provider)}, version ${nameOf(facts.policyVersion)}, for this request?`,
        why: `A person may be shown in ${shownIn(facts.faceMediaRoles, about)}, which the service takes with a person's consent alone.`,
        onYes: `Yes: the three statements are sent to the service with this request, and it is bought${forPrice(about?.mostMicroUsd ?? null, about)}. For ${life} the same request asks you for no consent again. The service may keep this for these very media under this version of the policy; you are still asked about every other request with them.`,
      }
  }
}

/** Which of several files it is, the service tells by their roles alone. */
function shownIn(roles: readonly string[], about: AskedAbout | null): string {
  const [file, ...others] = about?.files ?? []
  if (file && file.name !== null && others.length + (about?.moreFiles ?? 0) === 0) return fileName(file.name)
  return `its media (${rolesOf(roles)})`
}

const rolesOf = (roles: readonly string[]): string =>
  roles
    .slice(0, limits.maxFilesNamed)
    .map(role => nameOf(role).replaceAll('_', ' '))
    .join(', ') || 'it is not said where'

function detailsOf(facts: ApprovalFacts, { about, origin }: QuestionContext): QuestionDetail[] {
  const { tool, model, prompt, files = [], moreFiles = 0 } = about ?? {}
  const service = facts.kind === 'payee' ? facts.origin : origin
  const lines: [name: string, value: string | null][] = [
    ['What', facts.kind === 'spend' ? inOurWords(facts.what) : null],
    ['Tool', about && (tool == null ? 'none: a request of a program' : nameOf(tool))],
    ['Model', model == null ? null : nameOf(model)],
    ['Prompt, in the caller’s words', prompt == null ? null : quoted(prompt, limits.quotedCharacters) || unseen],
    ['Files', files.length > 0 ? filesOf(files, moreFiles, limits.maxFilesNamed) : null],
    ...moneyOf(facts, about),
    ['Service', service === null ? null : named(service, limits.maxPurposeLength)],
    ['About the policy', facts.kind === 'consent' ? named(facts.docsUrl, limits.maxOriginLength) : null],
  ]
  return lines.flatMap(([name, value]) => (value ? [{ name, value }] : []))
}

function moneyOf(facts: ApprovalFacts, about: AskedAbout | null): [string, string | null][] {
  if (facts.kind !== 'payee') {
    const known = facts.kind === 'spend' || about !== null
    const most = facts.kind === 'spend' ? facts.amountMicroUsd : (about?.mostMicroUsd ?? null)
    return [['Price', known ? priceOf(most, about) : null]]
  }
  return [
    ['Amount', `${displayUsd(facts.amountMicroUsd)}, now`],
    ['Paid to', nameOf(facts.payTo)],
    ['Network', networkName(nameOf(facts.network))],
    ['Token', nameOf(facts.asset)],
  ]
}

const unpriced = 'not known beforehand'
const unseen = 'nothing that can be seen'

/** What a call costs is bounded; a payment has its amount. */
const priceOf = (amount: MicroUsd | null, about: AskedAbout | null): string => {
  if (amount === null) return unpriced
  return about ? `at most ${displayUsd(amount)}` : displayUsd(amount)
}

const forPrice = (amount: MicroUsd | null, about: AskedAbout | null): string =>
  amount === null ? ', at a price that is not known beforehand' : ` for ${priceOf(amount, about)}`

/** What is asked, what it costs and what tells it from another one, in a line. A policy's text is only ever shown whole. */
export function questionInShort(facts: ApprovalFacts, { about, origin }: Omit<QuestionContext, 'command'>): string {
  return [headOf(facts, about), ...(about ? tellingApart(facts, about, origin) : [])].join('; ')
}

function headOf(facts: ApprovalFacts, about: AskedAbout | null): string {
  switch (facts.kind) {
    case 'spend':
      return `${inOurWords(facts.what)}${forPrice(facts.amountMicroUsd, about)}`
    case 'payee':
      return `${displayUsd(facts.amountMicroUsd)} to an address that was not paid before, ${nameOf(facts.payTo)}`
    case 'consent':
      return `the policy of ${nameOf(facts.provider)}, version ${nameOf(facts.policyVersion)}${about ? forPrice(about.mostMicroUsd, about) : ''}`
  }
}

function tellingApart(facts: ApprovalFacts, about: AskedAbout, origin: string | null): string[] {
  const { tool, model, prompt, files, moreFiles } = about
  const by = facts.kind === 'spend' || model === null ? '' : ` with ${nameOf(model)}`
  const at = origin === null ? '' : ` at ${named(origin.replace(/^https?:\/\//, ''), limits.maxNameLength)}`
  return [
    `${tool === null ? 'a request of a program' : nameOf(tool)}${by}${at}`,
    files.length > 0 ? filesOf(files, moreFiles, 2) : '',
    prompt === null ? '' : quoted(prompt, limits.quotedInShortCharacters),
  ].filter(Boolean)
}

function filesOf(files: readonly AskedFile[], more: number, most: number): string {
  const shown = files
    .slice(0, most)
    .map(({ name, bytes }) => `${fileName(name)}${bytes === null ? '' : ` (${sizeOf(bytes)})`}`)
  const rest = files.length - shown.length + more
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ')
}

/** Folders go first where there is no room. */
const fileName = (name: string | null): string =>
  name === null
    ? 'one without a name'
    : named(name.length <= limits.maxNameLength ? name : name.slice(1 - limits.maxNameLength), limits.maxNameLength)

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

const nameOf = (text: string): string => named(text, limits.maxNameLength)

/** Written by us, with names in it that were quoted where they are strange; without what a terminal would obey. */
const inOurWords = (text: string): string =>
  text
    .replace(/\.$/, '')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, limits.maxPurposeLength)
    .toWellFormed()
