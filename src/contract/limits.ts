import { dayMs } from './time.ts'

/** Limits as data (brief §8), including those of a top-up, of a wallet's records and of read-only calls. */

export const textTiers = ['XS', 'S', 'M', 'L'] as const
export type TextTier = (typeof textTiers)[number]

export const planNames = ['default', 'partner'] as const
export type PlanName = (typeof planNames)[number]

/** Returns the plan of this name; null if there is none, for example after a change of release. */
export const planNamed = (name: string | null | undefined): PlanName | null =>
  planNames.find(each => each === name) ?? null

/** A window is a fixed UTC minute. */
export interface RateLimit {
  requestsPerMinute: number
  tokensPerMinute?: number
}

/** Brief §8.1 and §8.3. */
export const textLimits: Record<PlanName, Record<TextTier, Required<RateLimit>>> = {
  default: {
    XS: { requestsPerMinute: 500, tokensPerMinute: 1_000_000 },
    S: { requestsPerMinute: 75, tokensPerMinute: 750_000 },
    M: { requestsPerMinute: 50, tokensPerMinute: 750_000 },
    L: { requestsPerMinute: 20, tokensPerMinute: 500_000 },
  },
  partner: {
    XS: { requestsPerMinute: 500, tokensPerMinute: 2_000_000 },
    S: { requestsPerMinute: 150, tokensPerMinute: 1_500_000 },
    M: { requestsPerMinute: 100, tokensPerMinute: 1_500_000 },
    L: { requestsPerMinute: 60, tokensPerMinute: 1_000_000 },
  },
}

export const otherLimitNames = [
  'image',
  'audio',
  'embedding',
  'augment',
  'crypto.rpc',
  'video.queue',
  'video.retrieve',
  'audio.queue',
  'audio.retrieve',
  'top-up',
  'wallet.balance',
  'wallet.transactions',
  'keys.create',
  'read',
] as const

/** `text` depends on the model's tier; the others have one number per plan. */
export type LimitName = 'text' | (typeof otherLimitNames)[number]

type OtherLimits = Record<(typeof otherLimitNames)[number], RateLimit>

const defaultLimits: OtherLimits = {
  image: { requestsPerMinute: 20 },
  audio: { requestsPerMinute: 60 },
  embedding: { requestsPerMinute: 500 },
  augment: { requestsPerMinute: 60 },
  'crypto.rpc': { requestsPerMinute: 100 },
  'video.queue': { requestsPerMinute: 40 },
  'video.retrieve': { requestsPerMinute: 120 },
  'audio.queue': { requestsPerMinute: 40 },
  'audio.retrieve': { requestsPerMinute: 120 },
  'top-up': { requestsPerMinute: 10 },
  'wallet.balance': { requestsPerMinute: 30 },
  'wallet.transactions': { requestsPerMinute: 20 },
  'keys.create': { requestsPerMinute: 20 },
  read: { requestsPerMinute: 500 },
}

/** Brief §8.2 and §8.3. Partners' video limits are not published, so the default ones apply. */
export const otherLimits: Record<PlanName, OtherLimits> = {
  default: defaultLimits,
  partner: { ...defaultLimits, image: { requestsPerMinute: 60 }, audio: { requestsPerMinute: 120 } },
}

/** Brief §7.3: more than 20 failed requests within 30 s block a caller for 30 s. */
export const abuseBlock = { failures: 20, windowMs: 30_000, blockMs: 30_000 } as const

/** Brief §8.5, §2.2: at least 5 USD. The published service accepts at most 10,000 USD and suggests 10. */
export const topUpUsd = { minimum: 5, suggested: 10, maximum: 10_000 } as const

/** A wallet needs this much credit to be admitted to a paid call. */
export const admissionFloorUsd = 0.1

/** In-flight requests of one wallet, above which it gets 429. */
export const walletConcurrency = 5

/** Brief §2.7: how long a download address is valid. */
export const downloadUrlMs = dayMs

/** Largest bodies, in bytes; the published contract allows 35 MB for video including base64, and 25 MB for one file. */
export const bodyBytes = {
  json: 10 * 1024 * 1024,
  video: 35 * 1024 * 1024,
  /** For unidentified callers, and for bodies with few members: the largest is a wallet's token and signature. */
  small: 64 * 1024,
  /** If files may come as a form: one of 25 MB in base64, or with its other fields beside it. */
  form: 35 * 1024 * 1024,
} as const

/** Largest file of an upload, in bytes. */
export const uploadBytes = 25 * 1024 * 1024

/** Maximum number of parts in a form, and bytes of one part's headers; browsers and clients send far fewer. */
export const formLimits = { parts: 64, headerBytes: 4 * 1024 } as const

/** A longer credential or payment header is refused before it is decoded. */
export const headerBytes = 8 * 1024

/** Maximum nesting of untrusted JSON; real bodies stay below 20. */
export const jsonDepth = 64

/**
 * Maximum number of values in a body, members and items at all levels: each takes some microseconds, in which the
 * process answers no other request. 2,000 messages with calls, and the definitions of 100 tools, have some 40,000.
 */
export const bodyValues = {
  usual: 50_000,
  /** With at most as many members as usual: the 300,000 tokens of OpenAI's largest embedding request, and some margin. */
  embeddings: 320_000,
} as const

/**
 * Maximum number of values in an answer of an engine or a service: the log probabilities of the largest, with some
 * margin.
 */
export const answerValues = { values: 5_000_000, members: 3_000_000 } as const

/** Maximum length of a vector; no model's is longer. */
export const mostDimensions = 100_000

/** A page of receipts is smaller, because they are signed while the caller waits. */
export const paging = {
  transactions: { default: 50, maximum: 100 },
  receipts: { default: 20, maximum: 50 },
  usage: { default: 200, maximum: 500 },
  usageHistory: { default: 1_000, minimum: 10, maximum: 1_000 },
} as const

/** Active keys that one account may have. */
export const activeKeys = 500

export const rateLimitLogRows = 50

/**
 * What an unidentified request is counted by: the payer of a verified payment, or the caller's address. Offers count
 * separately from payments.
 */
export type CountedFor = { payer: string } | 'address' | 'offer'
