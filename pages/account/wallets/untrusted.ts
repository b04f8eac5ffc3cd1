import { refusedOf } from '../../kit/api.ts'
import type { Refused } from '../../kit/wire.ts'

/** Whatever a wallet returns is untrusted: any extension can call itself a wallet. */

/** Why a wallet was not used: what is wrong, and what to do. */
export class WalletRefusal extends Error implements Refused {
  readonly happened: string
  readonly next: string

  constructor(happened: string, next: string) {
    super(`${happened} ${next}`)
    this.happened = happened
    this.next = next
  }
}

/** The message for anything thrown while a wallet was used. */
export const refusalOf = (error: unknown): Refused => (error instanceof WalletRefusal ? error : refusedOf(error))

/** A property of any value; undefined if it is missing or reading it fails. */
export function memberOf(value: unknown, name: string): unknown {
  try {
    return value === null || value === undefined ? undefined : (value as Record<string, unknown>)[name]
  } catch {
    return undefined
  }
}

/** The entries of an array, at most this many; none for anything else. */
export const listOf = (value: unknown, most: number): unknown[] => (Array.isArray(value) ? value.slice(0, most) : [])

/** One short line. Characters that control, hide or reorder text become spaces; empty for anything but a string. */
export function shownText(value: unknown, most: number): string {
  if (typeof value !== 'string') return ''
  const line = value
    .slice(0, 4 * most)
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

export const evmAddressOf = (value: unknown): string | null =>
  typeof value === 'string' && /^0x[\da-f]{40}$/i.test(value) ? value : null

export const solanaAddressOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value) ? value : null

/** A copy of bytes of a length from `least` to `most`; null for anything else. */
export function bytesOf(value: unknown, least: number, most: number): Uint8Array | null {
  if (!(value instanceof Uint8Array)) return null
  const { byteLength } = value
  return byteLength >= least && byteLength <= most ? new Uint8Array(value) : null
}

const rejectedCode = 4001
const busyCode = -32_002

/** The meaning of a wallet's own error. Its message is quoted as text, because it may be the only hint. */
export function wordsOfWallet(error: unknown): WalletRefusal {
  if (error instanceof WalletRefusal) return error
  const code = memberOf(error, 'code')
  const message = shownText(memberOf(error, 'message'), 160)
  if (code === rejectedCode || /reject|denied|cancel/i.test(message))
    return new WalletRefusal(
      'You rejected the request in the wallet.',
      'Nothing was signed. Try again if that was a mistake.',
    )
  if (code === busyCode)
    return new WalletRefusal(
      'The wallet is still waiting for your answer to another request.',
      'Open the wallet, answer it, and try again.',
    )
  return new WalletRefusal(
    message ? `The wallet reports: “${message}”` : 'The wallet failed and gave no reason.',
    'Nothing was signed. Unlock the wallet and try again, or use another wallet.',
  )
}

export const unusable = (what: string): WalletRefusal =>
  new WalletRefusal(`The wallet returned an invalid ${what}.`, 'Nothing was sent. Use another wallet.')

/** Base64 of bytes; `btoa` alone fails on text beyond Latin-1. */
export const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

export function bytesOfBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), character => character.charCodeAt(0))
}
