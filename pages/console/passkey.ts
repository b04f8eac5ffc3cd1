import { RefusedError } from '../kit/api.ts'
import type { PasskeyCreation, PasskeyRequest } from './wire.ts'

const isPossible = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** Asks an authenticator, and turns the browser's errors into sentences. */
async function asked(ask: () => Promise<Credential | null>): Promise<unknown> {
  if (!isPossible())
    throw new RefusedError(0, {
      happened: 'This browser does not support passkeys.',
      next: 'Use a newer browser, or a link.',
    })
  try {
    const credential = await ask()
    if (credential instanceof PublicKeyCredential) return credential.toJSON()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'InvalidStateError')
      throw new RefusedError(0, {
        happened: 'This device already has one of your passkeys.',
        next: 'Use another device.',
      })
  }
  throw new RefusedError(0, { happened: 'No passkey was used.', next: 'Try again, or use a link.' })
}

export const signWith = (request: PasskeyRequest): Promise<unknown> =>
  asked(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(request as never) }),
  )

export const makePasskey = (creation: PasskeyCreation): Promise<unknown> =>
  asked(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(creation as never) }),
  )
