import type { WalletKey } from '#wallet/keys/keys.ts'
import { sameAddress } from '#wallet/rules/policy.ts'
import { type RefusalRecord, refusalStatement, type SignedStatement, signStatement } from '#wallet/rules/refusals.ts'

/** A refusal for others to check. */
export interface SignedRefusal extends RefusalRecord, Pick<SignedStatement, 'statement'> {
  /** Null where the key of its address is not open here, or an API key would have paid. */
  scheme: SignedStatement['scheme'] | null
  signature: string | null
}

/** Each by the key that would have paid. */
export async function signedRefusals(
  refusals: readonly RefusalRecord[],
  keys: readonly WalletKey[],
): Promise<SignedRefusal[]> {
  const signed: SignedRefusal[] = []
  for (const refusal of refusals) {
    const { address } = refusal
    const key = address === null ? undefined : keys.find(each => sameAddress(each.address, address))
    const statement = refusalStatement(refusal)
    const unsigned = { statement, scheme: null, signature: null }
    signed.push({ ...refusal, ...(key ? await signStatement(key, statement) : unsigned) })
  }
  return signed
}
