/** Files of a farebox data folder, of a wallet or a service: a folder that has one of them is such a folder. */
export const dataFolderMarks = [
  'agent.db',
  'farebox.db',
  'service/secret',
  'service/farebox.db',
  'chain/keys.json',
] as const

/** Hidden files and folders hold settings and keys (`.env`, `.ssh`, `.farebox`), and nobody shows media there. */
export const isHiddenName = (name: string): boolean => plain(name).toLowerCase().startsWith('.')

/**
 * Whether a file is named like keys, tokens, passphrases, seeds or keystores, in any part of its name. Only for files that
 * are no image, audio or video by their bytes: a video may be called `the-secret.mp4`.
 */
export function isSecretName(name: string): boolean {
  const whole = plain(name)
  const lower = whole.toLowerCase()
  return secretNames.some(pattern => pattern.test(lower)) || wordsOf(whole).some(word => secretWord.test(word))
}

/** A document is sent to be read, so its type is one that holds text for people; settings and keys have other endings. */
export const isDocumentName = (name: string): boolean => documentEnding.test(plain(name).toLowerCase())

const documentEnding =
  /\.(?:pdf|docx?|xlsx?|xlsm|xlsb|ods|odt|pptx?|rtf|epub|html?|xhtml|txt|text|md|markdown|rst|adoc|tex|csv|tsv|srt|vtt)$/

const secretNames: readonly RegExp[] = [
  /\.(?:pem|p8|p12|pfx|jks|kdbx|ppk|gpg|asc)(?:\.|$)/,
  // Keys of ssh, a keystore of geth, a key of Solana's tools, and what services are given to sign in with.
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /^utc--/,
  /^(?:id|admin|auth|service[-_ ]?account)\.[a-z]+$/,
  /(?:seed|recovery|backup|secret)[-_ .]*(?:phrase|word|code)s?(?![a-z])/,
  /^(?:agent|farebox|lock)\.db/,
]

/** One word of a name, also where words stand together, as in `apikey` and `accesstoken`; `monkey` is none. */
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

/** Names that differ by width, or by what Windows passes over at their end, are one name to some file systems. */
const plain = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '')
