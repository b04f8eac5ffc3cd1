import { z } from 'zod'
import { DiscoveryRequired, WalletCreditRequired } from '../wire/payment-required.ts'

/** Bodies of errors (brief §2.4, §2.5, §3, §7). */

/** `{error}`: the default of every 4xx and 5xx. */
export const StandardError = z.strictObject({ error: z.string() }).meta({ id: 'StandardError' })

/** The 402 for a key that has reached its own limit: the published sentence, and the rest of that budget. */
export const KeyLimitReached = z
  .strictObject({
    error: z.string(),
    budget: z
      .strictObject({
        currency: z.enum(['USD', 'DIEM']),
        period: z.enum(['epoch', 'month', 'lifetime']),
        limit: z.number(),
        left: z.number(),
        /** ISO 8601; null for a limit over the key's whole life. */
        startsAnewAt: z.string().nullable(),
      })
      .optional(),
  })
  .meta({ id: 'KeyLimitReached' })
export type KeyLimitReached = z.output<typeof KeyLimitReached>

/**
 * What is wrong, by member: sentences under `_errors`, which our own service always sends, and each nested member under
 * its own name. Other services may omit `_errors`.
 */
const FieldDetails = z.looseObject({ _errors: z.array(z.string()).optional() })

/** Every 400 about a request: `details` nested by field, `issues` flat. */
export const DetailedError = z
  .strictObject({
    error: z.string(),
    details: FieldDetails.optional(),
    issues: z.array(z.record(z.string(), z.unknown())).optional(),
  })
  .meta({ id: 'DetailedError' })

/** A sign-in that was present but wrong. */
export const SignInError = z.strictObject({ error: z.string(), code: z.string() }).meta({ id: 'SignInError' })

/** A header that this route does not accept, or too many requests in flight. */
export const CodedError = z.strictObject({ error: z.string(), code: z.string() }).meta({ id: 'CodedError' })

/** Every error of a top-up except 402 and 429 (brief §2.4). */
export const TopUpError = z
  .strictObject({ error: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()).optional() })
  .meta({ id: 'X402Error' })

export const ContentViolation = z
  .strictObject({ error: z.string(), suggested_prompt: z.string().optional() })
  .meta({ id: 'ContentViolationError' })

/** A job that its engine refused for its content; the charge was refunded. */
export const ProviderContentPolicy = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.literal('provider_content_policy'),
      recommended_model: z.string().optional(),
      credits_refunded: z.boolean(),
    }),
  })
  .meta({ id: 'ProviderContentPolicyError' })

export const PayloadTooLarge = z
  .strictObject({ code: z.literal('PAYLOAD_TOO_LARGE'), error: z.string() })
  .meta({ id: 'PayloadTooLargeError' })

/** The error shape of OpenAI's clients, for a context that is too long. */
export const OpenAiError = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
    }),
  })
  .meta({ id: 'OpenAIError' })

export const faceMediaRoles = ['image', 'end_image', 'reference_image', 'video', 'reference_video'] as const
export type FaceMediaRole = (typeof faceMediaRoles)[number]

/** Brief §3.2: the policy text that a user must agree to. */
export const NeedsConsent = z
  .strictObject({
    error: z.strictObject({ code: z.literal('needs_consent'), message: z.string() }),
    consent_flow: z.string(),
    face_media_roles: z.array(z.enum(faceMediaRoles)),
    consent: z.strictObject({ consent_version: z.string(), policy_text: z.string() }),
    docs_url: z.string(),
  })
  .meta({ id: 'NeedsConsent' })
export type NeedsConsent = z.output<typeof NeedsConsent>

/** Failures of every operation that needs no caller. */
export const readFailures = { 400: DetailedError, 429: StandardError, 500: StandardError, 503: StandardError } as const

/** Failures of every free operation of a signed-in caller. */
export const callerFailures = {
  ...readFailures,
  400: z.union([DetailedError, CodedError]),
  401: z.union([StandardError, SignInError]),
  402: DiscoveryRequired,
} as const

/** The same for operations of a queued job. */
export const jobFailures = { ...callerFailures, 400: z.union([DetailedError, StandardError, CodedError]) } as const

/** Failures that every paid operation may answer; each operation adds its own. */
export const paidFailures = {
  400: z.union([DetailedError, CodedError]),
  401: z.union([StandardError, SignInError]),
  402: z.union([StandardError, KeyLimitReached, DiscoveryRequired, WalletCreditRequired]),
  403: StandardError,
  404: StandardError,
  413: PayloadTooLarge,
  429: z.union([StandardError, CodedError]),
  /** With a code if it is unknown whether the call was charged. */
  500: z.union([StandardError, CodedError]),
  503: StandardError,
} as const

/** Failures that every paid operation of a model may answer; the model may have been removed. */
export const paidModelFailures = { ...paidFailures, 410: StandardError } as const
