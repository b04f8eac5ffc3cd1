/**
 * The text that a wallet signs (brief §5.2): EIP-4361 for EVM, the same form for Solana. Parsing is strict: writing a
 * parsed message gives the same bytes.
 */
export interface SignInFields {
  /** Host of the service, with its port if any. */
  domain: string
  address: string
  statement?: string
  uri: string
  version: '1'
  /** CAIP-2. */
  chainId: string
  nonce: string
  /** ISO 8601, like the other times. */
  issuedAt: string
  expirationTime?: string
  notBefore?: string
  requestId?: string
  resources?: string[]
}

/** Longer than any message that a client writes, so that a parser cannot be kept busy. */
const longestMessage = 4096
const mostResources = 16

const dateTime = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)`
const linePattern = {
  domain: /^[^\s/?#@\\]{1,255}$/,
  evmAddress: /^0x[0-9a-fA-F]{40}$/,
  solanaAddress: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
  // No control characters, other line breaks or lone surrogates: what is shown is what is signed.
  statement: /^[^\p{Cc}\p{Cs}\u2028\u2029]{1,1000}$/u,
  uri: /^[a-zA-Z][a-zA-Z0-9+.-]{0,31}:[^\s]{1,2000}$/,
  nonce: /^[a-zA-Z0-9]{8,128}$/,
  time: new RegExp(`^${dateTime}$`),
  requestId: /^[^\s]{1,255}$/,
} as const

/** A statement that looks like another field could mislead a user, or a less strict parser. */
const fieldLabel = /(?:URI|Version|Chain ID|Nonce|Issued At|Expiration Time|Not Before|Request ID|Resources):/i

const solanaPrefix = 'solana:'
const evmPrefix = 'eip155:'

const isSolana = (chainId: string): boolean => chainId.startsWith(solanaPrefix)
const accountKind = (chainId: string): string => (isSolana(chainId) ? 'Solana' : 'Ethereum')

/** The line contains only the reference; the first line shows the namespace. */
const chainReference = (chainId: string): string => chainId.slice(chainId.indexOf(':') + 1)

/** Whether every field has a form that the message can hold; nothing with a line break passes. */
function areSignInFields(fields: SignInFields): boolean {
  const address = isSolana(fields.chainId) ? linePattern.solanaAddress : linePattern.evmAddress
  const chain = isSolana(fields.chainId) ? /^solana:[1-9A-HJ-NP-Za-km-z]{1,44}$/ : /^eip155:[1-9]\d{0,17}$/
  const optional = (pattern: RegExp, value: string | undefined) => value === undefined || pattern.test(value)
  return (
    linePattern.domain.test(fields.domain) &&
    address.test(fields.address) &&
    chain.test(fields.chainId) &&
    fields.version === '1' &&
    linePattern.uri.test(fields.uri) &&
    linePattern.nonce.test(fields.nonce) &&
    isTime(fields.issuedAt) &&
    isStatement(fields.statement) &&
    (fields.expirationTime === undefined || isTime(fields.expirationTime)) &&
    (fields.notBefore === undefined || isTime(fields.notBefore)) &&
    optional(linePattern.requestId, fields.requestId) &&
    (fields.resources ?? []).length <= mostResources &&
    (fields.resources ?? []).every(resource => linePattern.uri.test(resource))
  )
}

const isStatement = (text: string | undefined): boolean =>
  text === undefined || (linePattern.statement.test(text) && !fieldLabel.test(text))

const isTime = (text: string): boolean => linePattern.time.test(text) && !Number.isNaN(Date.parse(text))

/** Returns the exact text to sign. Throws if a field has a value that the text's format does not allow. */
export function writeSignInMessage(fields: SignInFields): string {
  if (!areSignInFields(fields))
    throw new Error('A field of the sign-in message has a form that the message cannot hold.')
  return written(fields, chainReference(fields.chainId))
}

function written(fields: SignInFields, chainLine: string): string {
  const lines = [
    `${fields.domain} wants you to sign in with your ${accountKind(fields.chainId)} account:`,
    fields.address,
    '',
    // Without a statement, EIP-4361 keeps its empty line, and the Solana form does not.
    ...(fields.statement === undefined ? (isSolana(fields.chainId) ? [] : ['']) : [fields.statement, '']),
    `URI: ${fields.uri}`,
    `Version: ${fields.version}`,
    `Chain ID: ${chainLine}`,
    `Nonce: ${fields.nonce}`,
    `Issued At: ${fields.issuedAt}`,
  ]
  if (fields.expirationTime !== undefined) lines.push(`Expiration Time: ${fields.expirationTime}`)
  if (fields.notBefore !== undefined) lines.push(`Not Before: ${fields.notBefore}`)
  if (fields.requestId !== undefined) lines.push(`Request ID: ${fields.requestId}`)
  if (fields.resources !== undefined) lines.push('Resources:', ...fields.resources.map(resource => `- ${resource}`))
  return lines.join('\n')
}

/** Parses the fields of a signed text; null if it is not exactly such a message. */
export function readSignInMessage(text: string): SignInFields | null {
  if (text.length > longestMessage) return null
  const lines = text.split('\n')
  const head = /^(\S+) wants you to sign in with your (Ethereum|Solana) account:$/.exec(lines[0] ?? '')
  if (!head) return null
  const fields = fieldsOf(lines, head[1] ?? '', head[2] === 'Solana' ? solanaPrefix : evmPrefix)
  if (!fields || !areSignInFields(fields)) return null
  // Writing it back checks the whole grammar: anything that was moved, repeated or smuggled in gives other bytes.
  const reference = chainReference(fields.chainId)
  const same =
    text === written(fields, reference) || (isSolana(fields.chainId) && text === written(fields, fields.chainId))
  return same ? fields : null
}

function fieldsOf(lines: readonly string[], domain: string, prefix: string): SignInFields | null {
  const uriAt = lines.findIndex((line, index) => index > 2 && line.startsWith('URI: '))
  if (uriAt === -1) return null
  const rest = lines.slice(uriAt)
  const value = (name: string) => rest.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const chain = value('Chain ID') ?? ''
  const resourcesAt = rest.indexOf('Resources:')
  const statement = uriAt === 5 ? lines[3] : undefined
  return {
    domain,
    address: lines[1] ?? '',
    ...present('statement', statement),
    uri: value('URI') ?? '',
    version: '1',
    chainId: chain.startsWith(prefix) ? chain : `${prefix}${chain}`,
    nonce: value('Nonce') ?? '',
    issuedAt: value('Issued At') ?? '',
    ...present('expirationTime', value('Expiration Time')),
    ...present('notBefore', value('Not Before')),
    ...present('requestId', value('Request ID')),
    ...(resourcesAt === -1 ? {} : { resources: rest.slice(resourcesAt + 1).map(line => line.slice(2)) }),
  }
}

const present = <Name extends string>(name: Name, value: string | undefined) =>
  (value === undefined ? {} : { [name]: value }) as Partial<Record<Name, string>>
