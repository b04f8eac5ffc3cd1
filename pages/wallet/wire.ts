import type { QrCode } from '../kit/wire.ts'

/**
 * What the wallet's page and its server exchange. Amounts are strings of whole micro-USD, times are Unix milliseconds,
 * and days are UTC. It imports nothing, so that the page needs no types of Node.
 */

/** The wallet's state from its journal and files. It is read again every few seconds. */
export interface WalletState {
  atMs: number
  service: string
  folder: string
  /** The service runs on this machine and takes test money. */
  isLocal: boolean
  addresses: readonly WalletAddress[]
  smallestTopUp: string
  isDryRun: boolean
  stop: StopState
  caps: readonly CapState[]
  /** The lower of what the daily and the total cap leave. */
  left: string
  /** When the oldest payment stops counting against the 24-hour cap; null if nothing was paid. */
  moreFromMs: number | null
  refill: RefillState | null
  payees: readonly { chain: string; payTo: string }[]
  /** Problems that need the owner: one sentence each, with the command that fixes it. */
  attention: readonly string[]
  approvals: readonly PendingApproval[]
  /** Whether lifting the stop requires the wallet's passphrase. */
  needsPassphrase: boolean
}

export interface WalletAddress {
  address: string
  chain: string
  /** The address whose account at the service is used, if that is decided. */
  isPayer: boolean
  /** Null for test money, which no telephone should send. */
  qr: QrCode | null
}

export interface StopState {
  isStopped: boolean
  by: string | null
  atMs: number | null
  /** The file in the data folder that also stops the wallet, which no page removes; null if there is none. */
  file: string | null
}

export interface CapState {
  /** The cap's name in `policy.json` and in the page's form. */
  name: string
  title: string
  /** What the cap limits, in a few words. */
  limits: string
  amount: string
  /** The amount that counts against the cap; null for a cap on each call or payment. */
  used: string | null
  left: string | null
  /** The variable or the file that sets it; null for the default. */
  setBy: string | null
  /** Where it can be raised, in a sentence. */
  raising: string
}

interface RefillState {
  below: string
  by: string
  /** Why it does not refill now. */
  note: string | null
  isHalted: boolean
}

export interface PendingApproval {
  id: string
  kind: 'spend' | 'payee' | 'consent'
  question: string
  why: string
  details: readonly { name: string; value: string }[]
  /** For a consent: the policy as the service sent it, and what the user declares by agreeing. */
  policyText: string | null
  statements: readonly { name: string; text: string }[]
  files: readonly AskedFileView[]
  ifApproved: string
  ifDenied: string
  expiresAtMs: number
}

export interface AskedFileView {
  name: string | null
  bytes: number | null
  /** Whether the media came from a file, which the page may be able to show. */
  isFile: boolean
}

/** Balances that were read from the chains and the service. */
export interface HoldingsView {
  credit: SeenView
  balances: readonly HeldView[]
}

export interface HeldView extends SeenView {
  address: string
  chain: string
  /** Where the service suggests buying USDC. */
  onRamp: { url: string; host: string } | null
}

export interface SeenView {
  amount: string | null
  atMs: number | null
  /** Why the amount is not known. */
  unknown: string | null
}

export const spendingDays = [7, 30, 90, 365] as const

/** Charges less refunds from the stored receipts, and payments from the journal. */
export interface Spending {
  days: number
  total: string
  /** Payments that were confirmed in this period. */
  paid: string
  charges: number
  /** Charges of an unknown amount, which no sum includes. */
  unknown: number
  /** Some rows of this period were deleted, or there are more than are read at once. */
  isPartial: boolean
  /** Every day, the oldest first, including those without a charge. */
  byDay: readonly { day: string; spent: string; paid: string }[]
  byModel: readonly SpentOn[]
  byTool: readonly SpentOn[]
}

export interface SpentOn {
  name: string
  spent: string
  charges: number
}

export const receiptKinds = ['top-up', 'send', 'charge', 'refund'] as const
type ReceiptKind = (typeof receiptKinds)[number]

/** A receipt of a charge has one of the first five, a payment one of the others. */
export const receiptStates = [
  'verified',
  'differs',
  'unverified',
  'unchecked',
  'unsigned',
  'confirmed',
  'unknown',
  'dead',
] as const

export interface ReceiptFilter {
  kind?: string
  state?: string
  /** Searched for in the id, the model, the tool and the description of the purchase. */
  text?: string
}

export interface ReceiptList {
  rows: readonly ListedReceiptView[]
  /** The number of all matches. */
  total: number
  from: number
  pageRows: number
}

export interface ListedReceiptView {
  id: string
  kind: ReceiptKind
  atMs: number
  amount: string | null
  state: string
  service: string
  what: string
  model: string | null
  tool: string | null
  usage: string
  transaction: string | null
  problem: string | null
  /** The signed receipt itself. */
  receipt: string | null
}

/** The input of each form of the page. */
export interface PageForms {
  'POST /api/approvals': { id: string; isApproved: boolean; statements: readonly string[] }
  'POST /api/caps': { name: string; usd: string }
  'POST /api/stop': Record<string, never>
  'POST /api/start': { passphrase: string }
  'POST /api/send/plan': { to: string; amount: string; facilitator: string }
  'POST /api/send': { to: string; usd: string; facilitator: string; ending: string; passphrase: string }
}

/** The planned transfer of money back, for the owner to compare and confirm. */
export interface PlannedSend {
  /** An equal transfer is pending: this continues it and sends no second one. */
  isRepeated: boolean
  from: string
  to: string
  chain: string
  amount: string
  /** The exact amount that the form sends. */
  usd: string
  balance: string
  /** Reserved for payments that may still be collected. */
  held: string
  /** Who settles the transfer. */
  through: string
  facilitator: string
  notes: readonly string[]
  /** How many characters of the address the owner must repeat. */
  lastCharacters: number
}

/** The outcome of a form, as a sentence. */
export interface Notice {
  said: string
}
