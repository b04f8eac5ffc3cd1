import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { onceLoaded } from '#host/packages.ts'
import type { PasskeyCreation, PasskeyRequest } from '#pages/console/wire.ts'
import type { NamedOperator, Passkey } from './operator-rows.ts'

/** A large library, which only registering or using a passkey needs. */
const library = onceLoaded(async () => {
  const [server, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ])
  return { ...server, ...helpers }
})

/** The host name for passkeys of this origin; null for an IP address, because browsers refuse it. */
export function rpIdOf(origin: string): string | null {
  const { hostname } = new URL(origin)
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : null
}

/** For one operator: a computer, a telephone and some security keys. */
export const mostPasskeys = 20

/** Accepted algorithms: Ed25519, ES256, RS256. */
const algorithms = [-8, -7, -257]

const text = z.string().min(1).max(8_000)

/** The output of `PublicKeyCredential.toJSON`. */
const Registered = z.object({
  id: text.max(2_000),
  rawId: text.max(2_000),
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: text,
    attestationObject: text,
    transports: z.array(z.string().max(30)).max(10).optional(),
  }),
  clientExtensionResults: z.looseObject({}).default({}),
})

const Asserted = z.object({
  id: text.max(2_000),
  rawId: text.max(2_000),
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: text,
    authenticatorData: text,
    signature: text,
    userHandle: z.string().max(200).nullish(),
  }),
  clientExtensionResults: z.looseObject({}).default({}),
})
export type Asserted = z.output<typeof Asserted>

export const assertedOf = (value: unknown): Asserted | null => Asserted.safeParse(value).data ?? null

interface Place {
  origin: string
  rpId: string
  /** Uses the challenge; false if it is not one of ours. */
  spend: (challenge: string) => Promise<boolean>
}

/** The input of the browser's `navigator.credentials.create`, as JSON. */
export const creationFor = (
  operator: Pick<NamedOperator, 'name' | 'proofs'>,
  rpId: string,
  challenge: string,
): PasskeyCreation => ({
  rp: { id: rpId, name: 'farebox console' },
  user: { id: operator.proofs.handle, name: operator.name, displayName: operator.name },
  challenge,
  pubKeyCredParams: algorithms.map(alg => ({ type: 'public-key', alg })),
  // Without this list, a registered authenticator would create a second passkey.
  excludeCredentials: credentialsOf(operator.proofs.passkeys, rpId),
  authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  attestation: 'none',
})

/**
 * The input of `navigator.credentials.get`, as JSON. Without a list, the operator chooses among all passkeys of the
 * host.
 */
export const requestFor = (rpId: string, challenge: string, passkeys: readonly Passkey[] = []): PasskeyRequest => ({
  ...{ rpId, challenge, userVerification: 'required' },
  allowCredentials: credentialsOf(passkeys, rpId),
})

const credentialsOf = (passkeys: readonly Passkey[], rpId: string) =>
  passkeys
    .filter(passkey => passkey.rpId === rpId)
    .map(({ id, transports }) => ({ type: 'public-key' as const, id, transports }))

/**
 * Returns a new passkey, or null if the browser's answer proves none. The authenticator's manufacturer is not checked.
 */
export async function registeredPasskey(
  credential: unknown,
  { origin, rpId, spend }: Place,
): Promise<Pick<Passkey, 'id' | 'publicKey' | 'counter' | 'transports' | 'rpId'> | null> {
  const sent = Registered.safeParse(credential).data
  if (!sent) return null
  const { verifyRegistrationResponse, decodeAttestationObject, isoBase64URL } = await library()
  try {
    // Other formats contain certificates, and the library would download their revocation lists.
    const attested = decodeAttestationObject(isoBase64URL.toBuffer(sent.response.attestationObject))
    if (attested.get('fmt') !== 'none') return null
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: sent as RegistrationResponseJSON,
      ...{ expectedChallenge: spend, expectedOrigin: origin, expectedRPID: rpId },
      ...{ requireUserPresence: true, requireUserVerification: true, supportedAlgorithmIDs: algorithms },
    })
    if (!verified) return null
    const { id, publicKey, counter } = registrationInfo.credential
    const { transports = [] } = sent.response
    return { id, publicKey: isoBase64URL.fromBuffer(publicKey), counter, transports, rpId }
  } catch {
    return null
  }
}

/** Returns the passkey's signature counter; null if the answer is no proof by this passkey. */
export async function provenCounter(
  sent: Asserted,
  passkey: Passkey,
  { origin, rpId, spend }: Place,
): Promise<number | null> {
  if (passkey.rpId !== rpId) return null
  const { verifyAuthenticationResponse, isoBase64URL } = await library()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: sent as AuthenticationResponseJSON,
      ...{ expectedChallenge: spend, expectedOrigin: origin, expectedRPID: rpId, requireUserVerification: true },
      credential: { id: passkey.id, publicKey: isoBase64URL.toBuffer(passkey.publicKey), counter: passkey.counter },
    })
    return verified ? authenticationInfo.newCounter : null
  } catch {
    return null
  }
}

/**
 * A cloned authenticator continues from the count at which it was cloned, so a count that does not increase is refused.
 */
export const isCountedOn = (counter: number, before: number): boolean =>
  counter > before || (counter === 0 && before === 0)
