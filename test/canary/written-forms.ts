import { createPrivateKey, createPublicKey } from 'node:crypto'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { canaries, canarySolanaSeed } from './canaries.ts'

/** A part of this length is as bad as the whole, and too long to occur by chance. */
export const partBytes = 16

export interface Part {
  /** Of which canary. */
  name: string
  bytes: Uint8Array
}

/** Every part by which a canary is known, in each way of writing it. */
export function canaryParts(): Part[] {
  const pair = Buffer.concat([canarySolanaSeed, publicHalfOf(canarySolanaSeed)])
  const all = Object.entries(canaries).flatMap(([name, bytes]) => formsOf(bytes).map(form => [name, form] as const))
  const exported = [pair, pair.subarray(0, 32)].flatMap(bytes => [encodeBase58(bytes), JSON.stringify([...bytes])])
  // After the secret half comes the public one, which is no secret.
  const secretHalf = exported.map(text => ['the Solana key', Buffer.from(text.slice(0, text.length / 2))] as const)
  return [...all, ...secretHalf].flatMap(([name, form]) => partsOf(form).map(bytes => ({ name, bytes })))
}

/** Its bytes, and texts of them; within a longer text, base64 begins at any of three places. */
function formsOf(bytes: Uint8Array): Uint8Array[] {
  const texts = [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return text.slice(before + 1, -4)
  })
  const urls = texts.map(text => text.replaceAll('+', '-').replaceAll('/', '_'))
  const hex = Buffer.from(bytes).toString('hex')
  return [bytes, ...[hex, encodeBase58(bytes), ...texts, ...urls].map(text => Buffer.from(text))]
}

function partsOf(form: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let at = 0; at + partBytes <= form.length; at += partBytes) parts.push(form.subarray(at, at + partBytes))
  return parts
}

function publicHalfOf(seed: Uint8Array): Buffer {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const { x = '' } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({
    format: 'jwk',
  })
  return Buffer.from(x, 'base64url')
}
