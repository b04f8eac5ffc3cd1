import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, win32 } from 'node:path'
import { zeroUsd } from '#contract/money.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { keyFileName } from '#wallet/keys/key-file.ts'
import { localKeyFileName } from '#wallet/keys/local-key-file.ts'
import { stateFileName } from '#wallet/records/state.ts'
import type { AskedFile } from '#wallet/terms/about-call.ts'
import { inputFileBytes } from '../bounds.ts'
import { httpTokenFileName } from '../loopback/http-token.ts'

export interface FileFolders {
  /** The only folder in which calls save files; created when first needed. */
  output: string
  /**
   * Further folders that may be read. The working folder is not one of them, because assistants start servers anywhere.
   */
  inputs: readonly string[]
  /** The folder of keys and journal, which is never read from, even if another folder contains it. */
  state: string
  /** Files with secrets, wherever they are, such as those that variables name. */
  secrets?: readonly string[]
}

/** Device and inode number: identifies a file or folder under any name. */
type Inode = string

/**
 * Decides which files tools may read: those in the allowed folders, except hidden ones, farebox data folders, and files
 * that also have a name elsewhere. Folders are compared by identity, not by the spelling of their names.
 */
export class ReadableFiles {
  readonly #folders: FileFolders
  readonly #platform: string

  constructor(folders: FileFolders, platform: string = process.platform) {
    this.#folders = folders
    this.#platform = platform
  }

  /** Returns the path without links; null if the file is missing or may not be read. */
  async pathOf(wanted: string): Promise<string | null> {
    if (!(await this.#isWithinReach(wanted))) return null
    const real = await realpath(wanted).catch(() => null)
    return real !== null && (await this.#mayRead(real)) ? real : null
  }

  /**
   * Windows signs in to any host that a path names, which reveals a hash of the user's password, so a path is not even
   * looked up on a share that has none of the folders.
   */
  async #isWithinReach(wanted: string): Promise<boolean> {
    if (this.#platform !== 'win32' || !isNetworkRoot(rootOnWindows(wanted))) return true
    const folders = [this.#folders.output, ...this.#folders.inputs]
    // A folder on a mapped drive is a path on the share without links.
    const real = await Promise.all(folders.map(folder => realpath(folder).catch(() => folder)))
    return [...folders, ...real].some(folder => rootOnWindows(folder) === rootOnWindows(wanted))
  }

  /**
   * Returns the bytes of a file that `pathOf` has found. Throws `ToolFailure`, also if another file has taken its
   * place.
   */
  async read(real: string): Promise<Buffer> {
    // If a link or a pipe took the file's place, it is not followed or waited for.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
    const file = await open(real, flags).catch(() => null)
    if (!file) throw refused('The file cannot be read.', 'Ask the user to check its permissions.')
    try {
      const opened = await file.stat({ bigint: true })
      if (!opened.isFile()) throw refused('This is not a file.', 'Give the path of one file.')
      await this.#checkOpened(real, opened)
      return await wholeOf(file, opened.size)
    } finally {
      await file.close()
    }
  }

  /** Checks that the opened file is the one that was checked, and not a secret under another name. */
  async #checkOpened(real: string, opened: BigIntStats): Promise<void> {
    if (opened.nlink > 1n)
      throw refused(
        'The file has a second name (a hard link), so it may be outside the folder too.',
        'Copy the file and give the path of the copy.',
      )
    const there = await lstat(real, { bigint: true }).catch(() => null)
    const isSame = there !== null && inodeOf(there) === inodeOf(opened) && (await this.pathOf(real)) === real
    if (!isSame || (await this.#secrets()).has(inodeOf(opened)))
      throw refused('Tools may not read this file.', 'Give another one.')
  }

  /** From the file upwards to an allowed folder, nothing may be hidden or part of a data folder. */
  async #mayRead(real: string): Promise<boolean> {
    const { output, inputs, state } = this.#folders
    const [saved, kept, ...given] = await Promise.all([output, state, ...inputs].map(inodeAt))
    let isAllowed = false
    for (let child = real, folder = dirname(real); ; child = folder, folder = dirname(folder)) {
      if (child === folder) return isAllowed
      if (!isAllowed && isHiddenName(basename(child))) return false
      const inode = await inodeAt(folder)
      if (inode === null) return false
      if (inode === kept || (await isDataFolder(folder))) return false
      // The output folder may be inside a data folder; any other folder must be outside.
      if (inode === saved) return true
      isAllowed ||= given.includes(inode)
    }
  }

  /** Keys and passphrases, under the names by which they are usually mounted. */
  async #secrets(): Promise<Set<Inode | null>> {
    const { state, secrets = [] } = this.#folders
    const paths = [...secretFileNames.map(name => join(state, name)), ...secrets]
    const found = new Set(await Promise.all(paths.map(inodeAt)))
    found.delete(null)
    return found
  }
}

async function wholeOf(file: FileHandle, size: bigint): Promise<Buffer> {
  if (size > inputFileBytes) throw tooLarge()
  const bytes = Buffer.alloc(Number(size))
  const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, 0)
  return bytes.subarray(0, bytesRead)
}

async function isDataFolder(folder: string): Promise<boolean> {
  const found = await Promise.all(dataFolderMarks.map(mark => lstat(join(folder, mark)).catch(() => null)))
  return found.some(mark => mark !== null)
}

const rootOnWindows = (path: string): string => win32.parse(win32.resolve(path)).root.toLowerCase()

/** Of a share, or of a device, which can be another host's too. */
const isNetworkRoot = (root: string): boolean => root.startsWith('\\\\')

const inodeOf = ({ dev, ino }: BigIntStats): Inode => `${dev}:${ino}`

const inodeAt = async (path: string): Promise<Inode | null> => {
  const found = await stat(path, { bigint: true }).catch(() => null)
  return found && inodeOf(found)
}

export const tooLarge = (): ToolFailure =>
  refused(`The file is larger than ${inputFileBytes / 1024 / 1024} MB.`, 'Give a smaller file, or an https URL.')

export const refused = (happened: string, next: string): ToolFailure =>
  new ToolFailure({ happened, charged: zeroUsd, next })

/** Files of a farebox data folder, of a wallet or a service: a folder that contains one of them is such a folder. */
const dataFolderMarks = ['agent.db', 'farebox.db', 'service/secret', 'service/farebox.db', 'chain/keys.json'] as const

/** Hidden files and folders contain settings and keys (`.env`, `.ssh`, `.farebox`), and media are not kept there. */
export const isHiddenName = (name: string): boolean => plain(name).toLowerCase().startsWith('.')

/**
 * Whether any part of a file's name suggests keys, tokens, passphrases, seeds or keystores. Only for files that are not
 * an image, audio or video by their bytes, because a video may be called `the-secret.mp4`.
 */
export function isSecretName(name: string): boolean {
  const whole = plain(name)
  const lower = whole.toLowerCase()
  return secretNames.some(pattern => pattern.test(lower)) || wordsOf(whole).some(word => secretWord.test(word))
}

/** Documents are limited to types with text for people; settings and keys have other extensions. */
export const isDocumentName = (name: string): boolean => documentEnding.test(plain(name).toLowerCase())

const documentEnding =
  /\.(?:pdf|docx?|xlsx?|xlsm|xlsb|ods|odt|pptx?|rtf|epub|html?|xhtml|txt|text|md|markdown|rst|adoc|tex|csv|tsv|srt|vtt)$/

const secretNames: readonly RegExp[] = [
  /\.(?:pem|p8|p12|pfx|jks|kdbx|ppk|gpg|asc)(?:\.|$)/,
  // SSH keys, a geth keystore, a key of Solana's tools, and credentials of services.
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /^utc--/,
  /^(?:id|admin|auth|service[-_ ]?account)\.[a-z]+$/,
  /(?:seed|recovery|backup|secret)[-_ .]*(?:phrase|word|code)s?(?![a-z])/,
  /^(?:agent|farebox|lock)\.db/,
]

/** A secret word in a name, also joined as in `apikey` and `accesstoken`, but not in `monkey`. */
const secretWord = new RegExp(
  `^(?:${[
    'env|seeds?|keys?|creds?|otp|totp|jwt|netrc|htpasswd|kubeconfig',
    '(?:api|app|auth|access|account|admin|aws|bot|client|deploy|encryption|gpg|license|master|pgp|priv|private|root|secret|server|service|session|sign|signing|ssh|wallet)keys?',
    '[a-z]*(?:token|secret|password|passwd|passphrase|credential|mnemonic|wallet|keystore|keypair|keyfile|keyring|keychain)s?',
  ].join('|')})$`,
)

/** `apiKey`, `api_key` and `api-key2` have the same words. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .concat(name.toLowerCase().split(/[^\p{L}]+/u))

/** Names that differ in width, or in trailing characters that Windows ignores, are one name to some file systems. */
const plain = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '')

/** Describes a media file given by URL or as bytes: no path, and no part of a URL that may be a key. */
export function mediaItemGiven(source: string): AskedFile | null {
  if (/^data:/i.test(source)) {
    const at = source.indexOf(',')
    return { name: null, bytes: at < 0 ? 0 : Buffer.byteLength(source.slice(at + 1), 'base64') }
  }
  if (!/^https?:\/\//i.test(source) || !URL.canParse(source)) return null
  const { protocol, host, pathname } = new URL(source)
  const fileName = /[\w-]{1,60}\.[a-z0-9]{1,5}$/i.exec(pathname)?.[0]
  return { name: `${protocol}//${host}/…${fileName === undefined ? '' : `/${fileName}`}`, bytes: null }
}

/** The files in a wallet's folder that only its owner may read. */
export const secretFileNames = [keyFileName, localKeyFileName, httpTokenFileName, stateFileName] as const
