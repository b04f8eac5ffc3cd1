import { randomBytes } from 'node:crypto'
import { evmNetwork, solanaNetwork } from '#contract/wire/networks.ts'
import type { SignInChallenge } from '../payment-required.ts'
import { challengeLifeMs, challengeNonceBytes } from './bounds.ts'

/** What to sign, for the 402 answers. The nonce is a suggestion: a wallet may choose its own, and each serves once. */
export function signInChallenge(publicUrl: string, nowMs: number): SignInChallenge {
  const { host, origin } = new URL(publicUrl)
  return {
    info: {
      // With its port: stock clients compare it with the host that they called.
      domain: host,
      uri: origin,
      version: '1',
      nonce: randomBytes(challengeNonceBytes).toString('hex'),
      issuedAt: new Date(nowMs).toISOString(),
      expirationTime: new Date(nowMs + challengeLifeMs).toISOString(),
      statement: 'Sign in to Service API',
    },
    supportedChains: [
      { chainId: evmNetwork, type: 'eip191' },
      { chainId: solanaNetwork, type: 'ed25519' },
    ],
  }
}
