/** Files of a farebox data folder, of a wallet or a service: a folder that has one of them is such a folder. */
export const dataFolderMarks = [
  'agent.db',
  'farebox.db',
  'service/secret',
  'service/farebox.db',
  'chain/keys.json',
] as const

/** Hidden files and folders hold settings and keys (`.env`, `.ssh`, `.farebox`), and nobody shows media there. */
export const isHiddenName = (name: string): boolean => plain(name).startsWith('.')

/**
 * Whether a file is called like what holds keys or passphrases. Only for what is no image, sound or video by its bytes: a
 * film may be called `the-secret.mp4`.
 */
export const isSecretName = (name: string): boolean => secretNames.some(pattern => pattern.test(plain(name)))

const secretNames: readonly RegExp[] = [
  /\.(?:env|key|keys|pem|p8|p12|pfx|jks|keystore|kdbx|ppk|gpg|asc|token)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /^(?:wallet|local-wallet|keys?|admin|auth|tokens?|service[-_]?account)\.(?:json|ya?ml|toml|txt)$/,
  /(?:^|[^a-z])(?:pass(?:phrase|word|wd)|secret|credential|mnemonic|seed[-_ ]?phrase|private[-_ ]?key|mcp[-_]?token)s?(?:[^a-z]|$)/,
  /^(?:agent|farebox|lock)\.db/,
]

/** Names that differ by case, width, or by what Windows passes over at their end are one name to some file systems. */
const plain = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '')
