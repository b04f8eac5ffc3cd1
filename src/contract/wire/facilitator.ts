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
const Supported = z.object({
  kinds: z.array(z.unknown()),
  /** Accounts by network, or by the family of networks, such as `solana:*`. */
  signers: z.record(z.string(), z.array(z.string())).catch({}),
})

export type FacilitatorKind = z.output<typeof Kind> & {
  /** The accounts that it pays fees from, if it lists them; `extra.feePayer` may be another of them each time. */
  signers: readonly string[]
}

/**
 * Returns the networks that it settles with the scheme `exact`, and skips kinds in any other form. Null if the answer
 * is not a list.
 */
export function facilitatorKinds(body: unknown): FacilitatorKind[] | null {
  const parsed = Supported.safeParse(body)
  if (!parsed.success) return null
  const { kinds, signers } = parsed.data
  return kinds
    .map(kind => Kind.safeParse(kind))
    .flatMap(kind => (kind.success ? [kind.data] : []))
    .filter(kind => kind.x402Version === x402Version && kind.scheme === 'exact')
    .map(kind => ({ ...kind, signers: [kind.network, familyOf(kind.network)].flatMap(name => ownOf(signers, name)) }))
}

const familyOf = (network: string): string => `${network.split(':')[0]}:*`

const ownOf = (signers: Readonly<Record<string, readonly string[]>>, name: string): readonly string[] =>
  Object.hasOwn(signers, name) ? (signers[name] ?? []) : []

/** Whether a facilitator pays fees on a kind's network from this account. */
export const paysFrom = ({ extra, signers }: FacilitatorKind, account: unknown): boolean =>
  extra?.feePayer === account || signers.some(signer => signer === account)
