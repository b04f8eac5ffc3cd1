import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { isSameSecret } from '#host/signatures/signatures.ts'
import { readPrivateFile, writeNewPrivateFile } from '#wallet/private-file.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'

/** The token for clients of `farebox mcp --http`, readable only by its owner. */
export interface HttpToken {
  /** For the user at the terminal; the token itself is never printed. */
  path: string
  /** Takes the same time for every guess. */
  isToken(given: string): boolean
}

export const httpTokenFileName = 'mcp-token'
const tokenBytes = 32

/** One of our tokens plus a line end from an editor fits. */
const mostBytes = 256

/** Any other contents are refused, so that an emptied file lets no one in. */
const shape = /^[\w-]{43}$/

/**
 * Returns the token of a data folder, created on first use, so that clients keep it across restarts. Throws
 * `WalletRefusal` if others can read the file or it contains something else.
 */
export function httpToken(dataFolder: string): HttpToken {
  const folder = resolve(dataFolder)
  const path = join(folder, httpTokenFileName)
  writeNewPrivateFile(folder, httpTokenFileName, `${randomBytes(tokenBytes).toString('base64url')}\n`)
  const token = readPrivateFile(path, mostBytes, true)?.trim() ?? ''
  if (!shape.test(token)) {
    throw new WalletRefusal({
      rule: 'settings',
      sentence: `${path} contains no valid token.`,
      nextStep: 'Remove the file; the next start creates a new token.',
    })
  }
  return { path, isToken: given => isSameSecret(given, token) }
}
