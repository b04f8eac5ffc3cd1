import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** The service's secrets: the first one encrypts, and former ones are accepted while a secret is being replaced. */
export type ServiceSecrets = readonly [string, ...string[]]

const keyBytes = 32
/** The size that GCM requires. Random values are safe because a key encrypts few texts. */
const ivBytes = 12
const tagBytes = 16

const keyOf = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(secret), '', `farebox console ${purpose}`, keyBytes))

/** Encrypts a text for this service only (AES-256-GCM), bound to its owner. */
export function seal(text: string, owner: string, [secret]: ServiceSecrets): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret, 'seal'), iv).setAAD(Buffer.from(owner))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Null if the text was encrypted with another secret or for another owner, or was changed. */
export function unseal(sealed: string, owner: string, secrets: ServiceSecrets): string | null {
  const bytes = Buffer.from(sealed, 'base64url')
  for (const secret of secrets) {
    try {
      const opened = createDecipheriv('aes-256-gcm', keyOf(secret, 'seal'), bytes.subarray(0, ivBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      return Buffer.concat([opened.update(bytes.subarray(ivBytes + tagBytes)), opened.final()]).toString('utf8')
    } catch {
      // A former secret may have encrypted it.
    }
  }
  return null
}

/** A keyed hash of a text, in base64url. */
export const markOf = (text: string, secret: string, purpose: string): string =>
  createHmac('sha256', keyOf(secret, purpose)).update(text).digest('base64url')
