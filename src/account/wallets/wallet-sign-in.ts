import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { signInSentence } from '#access/identity/caller-identity.ts'
import { minuteMs } from '#contract/time.ts'
import { evmNetwork, solanaNetwork } from '#contract/wire/networks.ts'
import { type SignInFields, writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import { checksumAddress } from '#host/signatures/evm-signature.ts'
import { ed25519Key } from '#host/signatures/signatures.ts'
import type { WalletPrincipal } from '#ledger/accounts/principal.ts'
import { type Challenge, type ChallengeOrder, signInUri, type WalletProof } from '#pages/account/wallets/wire.ts'
import type { RouteContext } from '../account-route.ts'

/** How long the user may take to sign; the verification accepts no older message. */
const challengeMs = 5 * minuteMs
/** 32 hexadecimal characters, which cannot be guessed. */
const nonceBytes = 16

const addressOf: Readonly<Record<ChallengeOrder['kind'], z.ZodType<string>>> = {
  evm: z.string().regex(/^0x[\da-f]{40}$/i),
  solana: z.string().refine(text => ed25519Key(text) !== null),
}
const Kind = z.enum(['evm', 'solana'])
const Order = z.strictObject({ kind: Kind, address: z.string().max(64) })
const Proof = z.strictObject({
  ...Order.shape,
  message: z.string().max(4_096),
  signature: z.string().max(300),
}) satisfies z.ZodType<WalletProof>

/** Returns the message that a wallet signs to begin a session here. It stores nothing, so anyone may request one. */
export async function walletChallenge(body: object, { settings, clock }: RouteContext): Promise<Challenge> {
  const order = Order.safeParse(body).data
  if (!order || !addressOf[order.kind].safeParse(order.address).success)
    throw new PageRefusal(400, 'The wallet’s address is invalid.', 'Choose another account in the wallet.')
  const { kind, address } = order
  const { host } = new URL(settings.publicUrl)
  const nowMs = clock.now()
  const fields = {
    domain: host,
    address: kind === 'evm' ? await checksumAddress(address) : address,
    statement: 'Sign in to your account on this site. This moves no money.',
    uri: signInUri(settings.publicUrl),
    version: '1',
    chainId: kind === 'evm' ? evmNetwork : solanaNetwork,
    nonce: randomBytes(nonceBytes).toString('hex'),
    issuedAt: new Date(nowMs).toISOString(),
    expirationTime: new Date(nowMs + challengeMs).toISOString(),
  } as const satisfies SignInFields
  return { message: writeSignInMessage(fields), fields }
}

/** Verifies a signed message exactly as the API verifies `SIGN-IN-WITH-X`. Throws `PageRefusal` with the reason. */
export async function proveWallet(body: object, { walletSignIn }: RouteContext): Promise<WalletPrincipal> {
  const proof = Proof.safeParse(body).data
  if (!proof) throw new PageRefusal(400, 'The wallet’s answer is incomplete.', 'Sign in again.')
  const { kind, address, message, signature } = proof
  const [chainId, type] = kind === 'evm' ? [evmNetwork, 'eip191'] : [solanaNetwork, 'ed25519']
  const payload = JSON.stringify({ address, message, signature, chainId, type })
  const result = await walletSignIn.signIn(Buffer.from(payload).toString('base64'))
  if (result.ok) return result.principal
  if (result.code === 'X402_SIGN_IN_INVALID_SIGNATURE') {
    const next = 'Choose the same account in the wallet, and sign in again; a contract wallet cannot sign in here.'
    throw new PageRefusal(401, 'The signature is not from the account that the wallet named.', next)
  }
  throw new PageRefusal(401, `${signInSentence(result.code)}.`.replace('..', '.'), 'Sign in again.')
}
