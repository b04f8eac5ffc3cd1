import { readSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { decodedText } from '#host/files.ts'
import { CliError, type CommandIo, integerFlag, wrongUsage } from '../command.ts'

/** For commands with which the user decides: a program that pipes its answer in is not the user. */
export function requireTerminal({ stdin }: Pick<CommandIo, 'stdin'>, command: string, otherwise = ''): void {
  if (stdin.isTTY) return
  throw new CliError(`\`${command}\` needs a terminal.`, `Run it in a terminal, without a pipe${otherwise}.`)
}

/** Reads one line from the terminal; `stopped` ends the wait in a command that has taken over Ctrl-C. */
export async function askLine(io: CommandIo, question: string, stopped?: AbortSignal): Promise<string> {
  io.output.note(question)
  const lines = createInterface({ input: io.stdin, ...(stopped && { signal: stopped }) })
  try {
    for await (const line of lines) return line.slice(0, answerCharacters).trim()
    throw stoppedByPerson()
  } finally {
    lines.close()
  }
}

/** Accepts only whole words, because either answer is final; anything else is asked again, and no answer means no. */
export async function askYes(io: CommandIo, question: string, stopped?: AbortSignal): Promise<boolean> {
  for (let again = ''; ; again = 'Please type yes or no in full. ') {
    const answer = (await askLine(io, `${again}${question} Type yes or no:`, stopped)).toLowerCase()
    if (answer === 'yes') return true
    if (answer === 'no' || answer === '') return false
  }
}

const enter = ['\r', '\n']
const interrupt = '\u0003'
const endOfInput = '\u0004'
const erase = ['\u007f', '\b']

/** Reads a line that the terminal does not show. */
export function askHidden(io: CommandIo, question: string): Promise<string> {
  const { stdin } = io
  io.output.note(question)
  return new Promise((resolve, reject) => {
    let typed = ''
    const finish = (settle: () => void) => {
      stdin.setRawMode(false)
      stdin.off('data', read)
      stdin.pause()
      settle()
    }
    const read = (chunk: Buffer | string) => {
      for (const character of chunk.toString()) {
        if (enter.includes(character)) return finish(() => resolve(typed))
        if (character === interrupt || character === endOfInput) return finish(() => reject(stoppedByPerson()))
        if (erase.includes(character)) typed = [...typed].slice(0, -1).join('')
        else if (typed.length < answerCharacters) typed += character
      }
    }
    stdin.setRawMode(true)
    stdin.resume()
    stdin.on('data', read)
  })
}

/** Reads a new passphrase, which must be typed twice. */
export async function askTwice(io: CommandIo, question: string): Promise<string> {
  const passphrase = await askHidden(io, question)
  if (passphrase === (await askHidden(io, 'Repeat the passphrase:'))) return passphrase
  throw new CliError('The passphrases differ.', 'Run the command again.')
}

/**
 * Reads the first line of an open file descriptor, through which a program can pass a passphrase without exposing it.
 */
function readDescriptor(descriptor: number): string {
  const bytes = Buffer.alloc(answerCharacters + 2)
  let length = 0
  try {
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null)
  } catch {
    throw new CliError(
      `The file descriptor ${descriptor} cannot be read.`,
      'Pass the passphrase on standard input: `--passphrase-fd 0 < FILE`.',
      2,
    )
  }
  return decodedText(bytes.subarray(0, length)).split(/\r?\n/)[0] ?? ''
}

/** Removes characters with which untrusted text could move the cursor, change colours or hide lines. */
export const plainText = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, character => (character === '\n' ? character : ' '))

const stoppedByPerson = (): CliError => new CliError('Nothing was decided.', 'Run the command again to retry.')

/**
 * Asks for the passphrase, because a program can open a terminal but does not know it. If no encrypted wallet has used
 * the journal, there is no passphrase to ask for: anyone with the unencrypted key can spend the money anyway. Returns
 * the passphrase, or null if there is none.
 */
export async function confirmOwner(io: CommandIo, ownerWallet: OwnerWallet): Promise<string | null> {
  if (!(await ownerWallet.isGuarded())) return null
  const passphrase = await askHidden(io, 'Wallet passphrase (not shown):')
  await ownerWallet.proveOwner(passphrase)
  return passphrase
}

/** Flags of every command that accepts a passphrase from a program. */
export const passphraseFlags = { 'passphrase-file': { type: 'string' }, 'passphrase-fd': { type: 'string' } } as const

interface Given {
  'passphrase-file'?: string | undefined
  'passphrase-fd'?: string | undefined
}

/**
 * Returns the passphrase from an open descriptor or a file, or from the systemd credential in `env`; null if there is
 * none. `lowest` is the first descriptor that the command does not use itself.
 */
export async function givenPassphrase(
  command: string,
  given: Given,
  env: Readonly<Record<string, string | undefined>>,
  lowest = 0,
): Promise<string | null> {
  const descriptor = integerFlag(command, 'passphrase-fd', given['passphrase-fd'], lowest, 255)
  if (descriptor === undefined) return readPassphraseFile(given['passphrase-file'], env)
  if (given['passphrase-file'] !== undefined)
    throw wrongUsage(command, 'Use either `--passphrase-fd` or `--passphrase-file`, not both')
  return readDescriptor(descriptor)
}

/** How long a service may take to send its offer; the user waits for it. */
export const offerTimeoutMs = 15_000
/** A list of two payment options is a few hundred bytes. */
export const offerBytes = 65_536
/** Longest answer that the user may type. */
const answerCharacters = 1_024
/** Default number of receipts that `farebox wallet receipts` prints. */
export const shownReceipts = 50
/** Most receipts for a program at once; more than anyone keeps. */
export const listedReceipts = 20_000

/** The credential's name in systemd: `LoadCredential=farebox-passphrase:…`. */
const credentialName = 'farebox-passphrase'

/** Longer than any passphrase; a larger file is the wrong one. */
const passphraseBytes = 4096

const readableByOthers = 0o077

/** Returns the first line of the named file, or of the systemd credential; null if there is neither. */
export async function readPassphraseFile(
  file: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const credentials = env.CREDENTIALS_DIRECTORY
  const path = file ?? (credentials ? join(credentials, credentialName) : null)
  if (path === null) return null
  const found = await stat(path).catch(() => null)
  if (!found?.isFile()) {
    if (file === undefined) return null
    throw new CliError(
      found?.isDirectory() ? `${path} is a folder.` : `There is no file ${path}.`,
      found?.isDirectory()
        ? 'Name the file in it that has the wallet’s passphrase.'
        : 'Write the wallet’s passphrase into it, and let only your user read it (chmod 600).',
    )
  }
  // systemd's credential is protected by its folder; Windows has no such bits.
  if (file !== undefined && process.platform !== 'win32' && (found.mode & readableByOthers) !== 0) {
    throw new CliError(`Other users can read ${path}.`, `Run \`chmod 600 ${path}\`, then start again.`)
  }
  if (found.size > passphraseBytes) throw new CliError(`${path} is too large for a passphrase.`, 'Name another file.')
  const bytes = await readFile(path).catch(() => {
    throw new CliError(`You may not read ${path}.`, 'Make your user its owner, with mode 600, then start again.')
  })
  return decodedText(bytes).split(/\r?\n/)[0] ?? null
}
