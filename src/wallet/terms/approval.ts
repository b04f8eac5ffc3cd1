import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { displaySpan } from '#contract/time.ts'
import { networkName } from '#contract/wire/networks.ts'
import * as limits from '../limits.ts'
import { type AskedAbout, type AskedFile, named, quoted } from './about-call.ts'

/** A decision for the user, as data. A policy's text is included in full, as the service sent it. */
export type ApprovalFacts =
  | {
      kind: 'consent'
      provider: string
      policyText: string
      policyVersion: string
      docsUrl: string
      faceMediaRoles: readonly string[]
    }
  /** `amountMicroUsd` is null if the price of the call is unknown in advance. */
  | { kind: 'spend'; what: string; amountMicroUsd: MicroUsd | null; because: string }
  | { kind: 'payee'; origin: string; network: string; asset: string; payTo: string; amountMicroUsd: MicroUsd }

export type ConsentFacts = Extract<ApprovalFacts, { kind: 'consent' }>

export interface PendingApproval extends RequestWords {
  approvalId: string
  facts: ApprovalFacts
  /** Where it can be answered without the assistant, in one sentence. */
  howToApprove: string
  expiresAtMs: number
}

/** Thrown before anything is signed. A row waits for the user's decision on exactly this request. */
export class NeedsApproval extends Error {
  override readonly name = 'NeedsApproval'
  readonly approval: PendingApproval

  constructor(approval: PendingApproval) {
    super(`The user has to approve: ${approval.summary} (${approval.approvalId}).`)
    this.approval = approval
  }
}

/** One fact for the user, on its own line. */
interface RequestDetail {
  name: string
  value: string
}

/** A request for approval in words, the same wherever it is shown. Untrusted words appear only as names and quotations. */
interface RequestWords {
  /** For a list, a log or a message. */
  summary: string
  /** What the user decides, as a question in one sentence. */
  question: string
  /** Why the user must decide, in one or two sentences. */
  why: string
  details: readonly RequestDetail[]
  /** The consequences of either decision, and how long they apply. */
  ifApproved: string
  ifDenied: string
}

/** What the request is about, in addition to its facts. */
interface RequestContext {
  about: AskedAbout | null
  origin: string
  /** The command that reverses a denial. */
  command: string
}

export function requestWords(facts: ApprovalFacts, context: RequestContext): RequestWords {
  return {
    summary: approvalSummary(facts, context),
    ...leading(facts, context),
    details: detailsOf(facts, context),
    ifDenied: `If you deny: nothing is sent or charged, and the same request is refused for ${displaySpan(limits.denialLifeMs)}. Until then only you can reverse the denial, with \`${context.command}\` in a terminal.`,
  }
}

function leading(
  facts: ApprovalFacts,
  { about }: RequestContext,
): Pick<RequestWords, 'question' | 'why' | 'ifApproved'> {
  const life = displaySpan(limits.approvalLifeMs)
  switch (facts.kind) {
    case 'spend':
      return {
        question: `Buy this${forPrice(facts.amountMicroUsd, about)}?`,
        why: facts.because,
        ifApproved: `If you approve: it is bought once. The approval is valid for this request only, for ${life}.`,
      }
    case 'payee':
      return {
        question: `Pay ${displayUsd(facts.amountMicroUsd)} to a new address?`,
        why: 'You have never approved this address. Compare it with the one that the service publishes.',
        ifApproved: 'If you approve: it is paid, and later payments to this address within the caps need no approval.',
      }
    case 'consent':
      return {
        question: `Do you consent to the policy of ${nameOf(facts.provider)}, version ${nameOf(facts.policyVersion)}, for this request?`,
        why: `${shownIn(facts.faceMediaRoles, about)} may show a person, so the service requires your consent.`,
        ifApproved: `If you approve: the three statements are sent to the service with this request, and it is bought${forPrice(about?.mostMicroUsd ?? null, about)}. For ${life} the same request needs no further consent. The service may remember your consent for these media and this version of the policy; farebox still asks you about every other request with them.`,
      }
  }
}

/** The service names the media only by their roles, so several files may be meant. */
function shownIn(roles: readonly string[], about: AskedAbout | null): string {
  const [file, ...others] = about?.files ?? []
  if (file && file.name !== null && others.length + (about?.moreFiles ?? 0) === 0) return fileName(file.name)
  return `Its media (${rolesOf(roles)})`
}

const rolesOf = (roles: readonly string[]): string =>
  roles
    .slice(0, limits.maxFilesNamed)
    .map(role => nameOf(role).replaceAll('_', ' '))
    .join(', ') || 'unspecified'

function detailsOf(facts: ApprovalFacts, { about, origin }: RequestContext): RequestDetail[] {
  const { tool, model, prompt, files = [], moreFiles = 0 } = about ?? {}
  const service = facts.kind === 'payee' ? facts.origin : origin
  const lines: [name: string, value: string | null][] = [
    ['What', facts.kind === 'spend' ? inOurWords(facts.what) : null],
    ['Tool', about && (tool == null ? 'none: a request from a program' : nameOf(tool))],
    ['Model', model == null ? null : nameOf(model)],
    ['Prompt (quoted)', prompt == null ? null : quoted(prompt, limits.quotedCharacters) || unseen],
    ['Files', files.length > 0 ? filesOf(files, moreFiles, limits.maxFilesNamed) : null],
    ...moneyOf(facts, about),
    ['Service', named(service, limits.maxPurposeLength)],
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

const unpriced = 'unknown'
const unseen = 'no visible text'

/** A call has a maximum cost; a payment has its amount. */
const priceOf = (amount: MicroUsd | null, about: AskedAbout | null): string => {
  if (amount === null) return unpriced
  return about ? `at most ${displayUsd(amount)}` : displayUsd(amount)
}

const forPrice = (amount: MicroUsd | null, about: AskedAbout | null): string =>
  amount === null ? ', at an unknown price' : ` for ${priceOf(amount, about)}`

/** Summarizes the request, its cost and its details in one line. A policy's text is shown only in full. */
export function approvalSummary(facts: ApprovalFacts, { about, origin }: Omit<RequestContext, 'command'>): string {
  return [headOf(facts, about), ...(about ? tellingApart(facts, about, origin) : [])].join('; ')
}

function headOf(facts: ApprovalFacts, about: AskedAbout | null): string {
  switch (facts.kind) {
    case 'spend':
      return `${inOurWords(facts.what)}${forPrice(facts.amountMicroUsd, about)}`
    case 'payee':
      return `${displayUsd(facts.amountMicroUsd)} to a new address, ${nameOf(facts.payTo)}`
    case 'consent':
      return `the policy of ${nameOf(facts.provider)}, version ${nameOf(facts.policyVersion)}${about ? forPrice(about.mostMicroUsd, about) : ''}`
  }
}

function tellingApart(facts: ApprovalFacts, about: AskedAbout, origin: string): string[] {
  const { tool, model, prompt, files, moreFiles } = about
  const by = facts.kind === 'spend' || model === null ? '' : ` with ${nameOf(model)}`
  const at = ` at ${named(origin.replace(/^https?:\/\//, ''), limits.maxNameLength)}`
  return [
    `${tool === null ? 'a request from a program' : nameOf(tool)}${by}${at}`,
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

/** If there is too little room, folders are dropped first. */
const fileName = (name: string | null): string =>
  name === null
    ? 'a file without a name'
    : named(name.length <= limits.maxNameLength ? name : name.slice(1 - limits.maxNameLength), limits.maxNameLength)

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

const nameOf = (text: string): string => named(text, limits.maxNameLength)

/** Written by us, with untrusted names quoted; removes what would control a terminal. */
const inOurWords = (text: string): string =>
  text
    .replace(/\.$/, '')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, limits.maxPurposeLength)
    .toWellFormed()
