import { readSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { CliError, type CommandIo, integerFlag, wrongUsage } from '../command.ts'

/** Commands by which the user decides: a program that pipes its answer in is no person. */
export function requireTerminal({ stdin }: Pick<CommandIo, 'stdin'>, command: string): void {
  if (stdin.isTTY) return
  throw new CliError(`\`${command}\` needs a terminal.`, 'Run it in a terminal, without a pipe.')
}

/** One line of the terminal. */
export async function askLine(io: CommandIo, question: string): Promise<string> {
  io.output.note(question)
  const lines = createInterface({ input: io.stdin })
  try {
    for await (const line of lines) return line.slice(0, answerCharacters).trim()
    throw stoppedByPerson()
  } finally {
    lines.close()
  }
}

/** Only the whole words count, because either of them is final; anything else is asked again, and nothing is a no. */
export async function askYes(io: CommandIo, question: string): Promise<boolean> {
  for (let again = ''; ; again = 'Please type yes or no in full. ') {
    const answer = (await askLine(io, `${again}${question} Type yes or no:`)).toLowerCase()
    if (answer === 'yes') return true
    if (answer === 'no' || answer === '') return false
  }
}

const enter = ['\r', '\n']
const interrupt = '\u0003'
const endOfInput = '\u0004'
const erase = ['\u007f', '\b']

/** A line that the terminal does not show. */
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

/** The first line of an open file descriptor: how a program hands over a passphrase without showing it to others. */
function readDescriptor(descriptor: number): string {
  const bytes = Buffer.alloc(answerCharacters + 2)
  let length = 0
  try {
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null)
  } catch {
    throw new CliError(
      `Nothing can be read from the file descriptor ${descriptor}.`,
      'Pass the passphrase on standard input: `--passphrase-fd 0 < FILE`.',
      2,
    )
  }
  return bytes.toString('utf8', 0, length).split(/\r?\n/)[0] ?? ''
}

/** A stranger's text cannot move the cursor, change colours or hide its own lines. */
export const plainText = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, character => (character === '\n' ? character : ' '))

const stoppedByPerson = (): CliError => new CliError('Nothing was decided.', 'Run the command again to retry.')

/**
 * A program can open a terminal of its own, but does not know the passphrase. Where no encrypted wallet has used the
 * journal, there is none to ask for: a user with the plain key of such a wallet can spend it anyway.
 */
export async function confirmOwner(io: CommandIo, desk: OwnerWallet): Promise<void> {
  if (await desk.isGuarded()) await desk.proveOwner(await askHidden(io, 'Passphrase of the wallet (it is not shown):'))
}

/** Flags of every command that takes a passphrase from a program. */
export const passphraseFlags = { 'passphrase-file': { type: 'string' }, 'passphrase-fd': { type: 'string' } } as const

interface Given {
  'passphrase-file'?: string | undefined
  'passphrase-fd'?: string | undefined
}

/**
 * The passphrase that a program hands over by an open descriptor or a file, else by the systemd credential of `env`; null
 * where there is none. `lowest` is the first descriptor that the command has no use for itself.
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

/** How long a service may take to say what it wants; the user waits for it. */
export const offerTimeoutMs = 15_000
/** A list of two payment options is a few hundred bytes. */
export const offerBytes = 65_536
/** What the user types at most in answer to a question. */
const answerCharacters = 1_024
/** Receipts that `farebox wallet receipts` prints unless told. */
export const shownReceipts = 50
/** Receipts that it gives a program at once; more than anyone keeps. */
export const listedReceipts = 20_000

/** What systemd calls the credential: `LoadCredential=farebox-passphrase:…`. */
const credentialName = 'farebox-passphrase'

/** Longer than any passphrase; a file above it is the wrong one. */
const passphraseBytes = 4096

const readableByOthers = 0o077

/** The first line of the file that was named, else of the systemd credential; null where there is neither. */
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
      `There is no file ${path}.`,
      'Write the wallet’s passphrase into it, and let only your user read it (chmod 600).',
    )
  }
  // What systemd hands over is protected by its folder; Windows has no such bits.
  if (file !== undefined && process.platform !== 'win32' && (found.mode & readableByOthers) !== 0) {
    throw new CliError(`Other users can read ${path}.`, `Run \`chmod 600 ${path}\`, then start again.`)
  }
  if (found.size > passphraseBytes) throw new CliError(`${path} is too large for a passphrase.`, 'Name another file.')
  return (await readFile(path, 'utf8')).split(/\r?\n/)[0] ?? null
}
