import { randomBytes } from 'node:crypto'
import { writeSignInHeader } from '#contract/wire/sign-in.ts'
import { type SignInFields, writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import type { WalletKey } from './keys/keys.ts'
import { signInLifeMs, signInNonceBytes } from './limits.ts'
import { type Policy, railOf } from './rules/policy.ts'
import { WalletRefusal } from './terms/refusal.ts'

const statement = 'Use the prepaid credit of this wallet.'

/**
 * A fresh `SIGN-IN-WITH-X` for one request (brief §5.2). The text is made from the configured origin and nothing that a
 * service said, so that no service can have a login for another one signed.
 */
export async function signIn(key: WalletKey, policy: Policy, url: string, nowMs: number): Promise<string> {
  const requested = URL.canParse(url) ? new URL(url) : null
  if (requested?.origin !== policy.origin)
    throw new WalletRefusal({
      rule: 'origin',
      sentence: `The wallet signs in at ${policy.origin} alone, and the request goes elsewhere.`,
      nextStep: 'Check the address of the service in the configuration.',
    })
  const fields: SignInFields = {
    domain: requested.host,
    address: key.address,
    statement,
    // Without the query, which may hold what is nobody else's business.
    uri: `${requested.origin}${requested.pathname}`,
    version: '1',
    chainId: railOf(policy, key.address)?.network ?? noRail(),
    nonce: randomBytes(signInNonceBytes).toString('hex'),
    issuedAt: new Date(nowMs).toISOString(),
    expirationTime: new Date(nowMs + signInLifeMs).toISOString(),
  }
  const signature = await key.signMessage(writeSignInMessage(fields))
  return writeSignInHeader({ fields, signature }, 'message')
}

function noRail(): never {
  throw new WalletRefusal({
    rule: 'network',
    sentence: 'The settings leave no chain on which this wallet may act.',
    nextStep: 'Look at `networks` in policy.json.',
  })
}
