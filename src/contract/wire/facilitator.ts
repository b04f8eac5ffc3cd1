import { z } from 'zod'
import { x402Version } from './networks.ts'

/** What facilitators of x402 version 2 answer. Other members are ignored. */

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
 * Returns what it settles with the scheme `exact`, skipping kinds that it writes differently. Null if it is not a list
 * at all.
 */
export function facilitatorKinds(body: unknown): FacilitatorKind[] | null {
  const parsed = Supported.safeParse(body)
  if (!parsed.success) return null
  return parsed.data.kinds
    .map(kind => Kind.safeParse(kind))
    .flatMap(kind => (kind.success ? [kind.data] : []))
    .filter(kind => kind.x402Version === x402Version && kind.scheme === 'exact')
}
