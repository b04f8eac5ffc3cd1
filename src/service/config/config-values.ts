import { z } from 'zod'
import { readNetwork } from '#access/callers/trusted-proxies.ts'
import { parseUsd, pricePerMillion } from '#contract/money.ts'
import { dayMs } from '#contract/time.ts'
import { fetchHostCount, textCharacters, trustedProxyCount } from './bounds.ts'

/** Kinds of values of a configuration. */

export const Text = z.string().max(textCharacters)

/** An amount in the words of the file, never as a float: `0.15` is read as it is printed. */
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

/** USD a million tokens, as pico-USD a token. */
export const PerMillionUsd = decimal(pricePerMillion, '0.15')

/** USD as micro-USD. */
export const Usd = decimal(text => {
  const amount = parseUsd(text)
  return amount !== null && amount >= 0n ? amount : null
}, '0.01')

/** An address of a server, without a user or a password. */
export const HttpUrl = z.string().refine(isHttpUrl, 'Must be an http or https address')

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

/** Places that callers' addresses may lead to although they are not public. */
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

/** Milliseconds of a time-out. */
export const Milliseconds = count(1, dayMs)

/** ISO 8601, as a day or to the second, in UTC. */
export const Moment = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,3})?Z)?$/, 'a day such as 2027-01-31, or 2027-01-31T12:00:00Z')
  .refine(text => Number.isFinite(Date.parse(text)), 'Must be a day that there is')
