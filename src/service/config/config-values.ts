import { z } from 'zod'
import { readNetwork } from '#access/identity/trusted-proxies.ts'
import { parseUsd, pricePerMillion } from '#contract/money.ts'
import { dayMs } from '#contract/time.ts'
import { vendorPattern } from '#contract/wire/vendor.ts'

/** Largest file; a configuration of a thousand models with all their texts stays below it. */
export const configBytes = 4 * 1024 * 1024

/** Largest file that a variable names as the source of its value. */
export const valueFileBytes = 64 * 1024

/** YAML aliases in a file: enough for a server that every model uses, too few to inflate a file. */
export const configAliases = 1_000

/** Faults to report at once; the rest appear when these are fixed. */
export const faultsTold = 20

/** How much of a wrong value a fault quotes. */
export const foundCharacters = 60

export const upstreamsOfModel = 64

/** Minimum length of a secret for signing and hashing; a word could be guessed. */
export const secretCharacters = 32

/** Longest system prompt, description or policy. */
const textCharacters = 100_000

/** Most requests and tokens per minute in a setting: more than any machine serves, and sums stay exact. */
export const requestsPerMinute = 10_000_000
export const tokensPerMinute = 100_000_000_000

/** Most hosts in the list; more would be a network, which callers should not reach. */
const fetchHostCount = 100

/** Most nodes of one blockchain, each used when the one before it is unreachable. */
export const nodesOfNetwork = 16

/** Most characters of a service, and the size of one: each search goes through a list of all in memory. */
export const charactersOfService = 1_000
export const labelsOfCharacter = 100
export const labelCharacters = 200
export const reviewsOfCharacter = 1_000

/** Most networks of proxies; a large provider's list has some hundred. */
const trustedProxyCount = 1_000

/** Types of values in a configuration. */

export const Text = z.string().max(textCharacters)

/** The word in the names of headers and members. An agent and another service accept the same words. */
export const Vendor = z.string().regex(vendorPattern, '2 to 32 lower-case letters and digits, beginning with a letter')

/** An amount as written in the file, never as a float: `0.15` keeps its digits. */
const decimal = <Value>(read: (text: string) => Value | null, example: string) =>
  z.preprocess(
    value => (typeof value === 'number' ? String(value) : value),
    z.string().transform((text, context) => {
      const amount = read(text)
      if (amount !== null) return amount
      context.addIssue(`Must be an amount of USD such as ${example}`)
      return z.NEVER
    }),
  )

/** USD per million tokens, as pico-USD per token. */
export const PerMillionUsd = decimal(pricePerMillion, '0.15')

/** USD as micro-USD. */
export const Usd = decimal(text => {
  const amount = parseUsd(text)
  return amount !== null && amount >= 0n ? amount : null
}, '0.01')

/** A server's address, without user or password. */
export const HttpUrl = z.string().refine(isHttpUrl, 'Must be an http or https address')

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

/** Private hosts that callers' addresses may name. */
export const FetchHosts = z
  .array(z.string().regex(/^[^/\s]+:\d{1,5}$/, 'a host and a port: media.internal:443'))
  .max(fetchHostCount)

/** Addresses and networks of proxies. */
export const TrustedNetworks = z
  .array(
    z
      .string()
      .refine(text => readNetwork(text) !== null, 'Must be an address or a network, such as 127.0.0.1 or 10.0.0.0/8'),
  )
  .max(trustedProxyCount)

export const count = (least: number, most: number) => z.number().int().min(least).max(most)

/** A timeout in milliseconds. */
export const Milliseconds = count(1, dayMs)

/** ISO 8601, as a day or to the second, in UTC. */
export const Moment = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,3})?Z)?$/, 'a day such as 2027-01-31, or 2027-01-31T12:00:00Z')
  .refine(text => Number.isFinite(Date.parse(text)), 'Must be an existing date')

/** What is wrong at one place of a configuration, in words for its author. */
export interface ConfigFault {
  /** From 1. */
  line: number
  column: number
  /** `models[0].price`; empty for the file as a whole. */
  field: string
  sentence: string
}

/** Every fault of a configuration, none of which is applied. */
export class ConfigRefused extends Error {
  override readonly name = 'ConfigRefused'
  readonly faults: readonly ConfigFault[]

  constructor(faults: readonly ConfigFault[]) {
    super(`${faults.length} ${faults.length === 1 ? 'error' : 'errors'}`)
    this.faults = faults
  }
}

/** `farebox.yaml:12:5 models[0].price: Field is required.` */
export const faultLine = (file: string, { line, column, field, sentence }: ConfigFault): string =>
  `${file}:${line}:${column} ${field === '' ? '' : `${field}: `}${sentence}`

export type ConfigPath = readonly (string | number)[]

/** `models[0].price` */
export const fieldOf = (path: ConfigPath): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index ? '.' : ''}${part}`)).join('')
