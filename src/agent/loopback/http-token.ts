import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { isSameSecret } from '#host/signatures.ts'
import { readPrivateFile, writeNewPrivateFile } from '#wallet/private-file.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'

/** What clients of `farebox mcp --http` show, kept where its owner alone can read it. */
export interface HttpToken {
  /** For the user at the terminal; the token itself is never printed. */
  path: string
  /** Takes the same time for every guess. */
  isToken(given: string): boolean
}

export const httpTokenFileName = 'mcp-token'
const tokenBytes = 32

/** More than a token of ours has, with the line's end of an editor. */
const mostBytes = 256

/** What is no token of ours is not taken for one: a file that was emptied would let everyone in. */
const shape = /^[\w-]{43}$/

/**
 * The token of a data folder, made at its first use, so that clients keep it over restarts. Throws `WalletRefusal` where
 * others can read the file or where it holds something else.
 */
export function httpToken(stateFolder: string): HttpToken {
  const folder = resolve(stateFolder)
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
