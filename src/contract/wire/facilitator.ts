import { z } from 'zod'
import { x402Version } from './networks.ts'

/** The answers of facilitators of x402 version 2. Other members are ignored. */

const Word = z.string().nullish()

export const FacilitatorVerdict = z.object({ isValid: z.boolean(), invalidReason: Word })
export const FacilitatorSettlement = z.object({ success: z.boolean(), errorReason: Word, transaction: Word })

const Kind = z.object({
  x402Version: z.number(),
  scheme: z.string(),
  network: z.string(),
  extra: z.record(z.string(), z.unknown()).nullish(),
})
const Supported = z.object({ kinds: z.array(z.unknown()) })

export type FacilitatorKind = z.output<typeof Kind>

/**
 * Returns the networks that it settles with the scheme `exact`, and skips kinds in any other form. Null if the answer
 * is not a list.
 */
export function facilitatorKinds(body: unknown): FacilitatorKind[] | null {
  const parsed = Supported.safeParse(body)
  if (!parsed.success) return null
  return parsed.data.kinds
    .map(kind => Kind.safeParse(kind))
    .flatMap(kind => (kind.success ? [kind.data] : []))
    .filter(kind => kind.x402Version === x402Version && kind.scheme === 'exact')
}
