import { z } from 'zod'
import { otherLimitNames } from '#contract/limits.ts'
import { rpcCredits } from '#contract/operations/rpc.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { adultThreshold } from '#engines/moderation/moderators.ts'
import { networkCount } from '../capabilities/rpc/routes.ts'
import {
  charactersOfService,
  count,
  FetchHosts,
  HttpUrl,
  labelCharacters,
  labelsOfCharacter,
  Milliseconds,
  Moment,
  nodesOfNetwork,
  requestsPerMinute,
  reviewsOfCharacter,
  secretCharacters,
  Text,
  TrustedNetworks,
  tokensPerMinute,
  Vendor,
} from './config-values.ts'
import { openAiOptions } from './engines/openai.ts'
import { MediaConfig } from './media-config.ts'
import { ModelConfigs } from './model-config.ts'
import { PaymentConfig } from './payment-config.ts'

/** The larger sections of `farebox.yaml`, one schema each. */

const Requests = z.number().int().min(0).max(requestsPerMinute)
const Tokens = z.number().int().min(0).max(tokensPerMinute)

const Change = z.strictObject({ requestsPerMinute: Requests.optional(), tokensPerMinute: Tokens.optional() })
const Count = z.strictObject({ requestsPerMinute: Requests, tokensPerMinute: Tokens.optional() })

const LimitName = z.enum(['text', ...otherLimitNames])
const changes = {
  types: z.partialRecord(LimitName, Change).optional(),
  models: z.record(z.string().min(1), Change).optional(),
}
const counts = z.partialRecord(LimitName, Count).optional()

/** Limits in addition to the plan's; see `LimitSettings`. */
const LimitConfig = z.strictObject({
  ...changes,
  accounts: z
    .record(z.string().min(1), z.strictObject({ plan: z.enum(['default', 'partner']).optional(), ...changes }))
    .optional(),
  apiKey: counts,
  global: counts,
})

const isOpen = (text: string): boolean => {
  const url = URL.parse(text)
  return !url?.username && !url?.password
}

/** The engine for web searches; without one the service refuses them. */
export const SearchConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('searxng'),
    /** Its settings must list `json` under `search.formats`. */
    baseUrl: HttpUrl.refine(isOpen, 'Must not contain a user name or password'),
    language: z
      .string()
      .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'a language such as en or pt-BR')
      .optional(),
    timeoutMs: Milliseconds.optional(),
  }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type SearchConfig = z.output<typeof SearchConfig>

/** The engine that reads web pages; without one, the service refuses to read them. */
export const PagesConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('web'),
    /** Overrides the list of the whole service. */
    fetchHosts: FetchHosts.optional(),
    convertMs: Milliseconds.optional(),
  }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type PagesConfig = z.output<typeof PagesConfig>

const Network = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'lower-case letters, digits and -, such as base-mainnet'),
  /** Each is used when the one before it is unreachable. */
  urls: z.tuple([HttpUrl], HttpUrl).refine(urls => urls.length <= nodesOfNetwork, `At most ${nodesOfNetwork} nodes`),
  timeoutMs: Milliseconds.optional(),
  baseCredits: count(1, rpcCredits.mostBase).optional(),
})

/** Blockchains whose nodes callers may query; the allowed methods are the same on every service. */
export const NetworkConfigs = z
  .array(Network)
  .max(networkCount)
  .refine(networks => new Set(networks.map(({ slug }) => slug)).size === networks.length, 'Two networks share a slug')

/** Transcribes the audio of a video. */
export const TranscriberConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('openai'),
    baseUrl: openAiOptions.baseUrl,
    apiKey: openAiOptions.apiKey,
    /** That server's name for it. */
    model: z.string().min(1).max(1_000),
    timeouts: openAiOptions.timeouts,
  }),
  z.strictObject({ engine: z.literal('local') }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type TranscriberConfig = z.output<typeof TranscriberConfig>

/** Checks images before they are sold. */
export const ModerationConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('nsfwjs'),
    /** Minimum score, from 0 to 1, at which the model counts an image as sexual. */
    threshold: z.number().gt(0).lt(1).default(adultThreshold),
  }),
  z.strictObject({
    engine: z.literal('openai'),
    baseUrl: openAiOptions.baseUrl,
    apiKey: openAiOptions.apiKey,
    /** That server's name for it. */
    model: z.string().min(1).max(1_000).default('omni-moderation-latest'),
    timeouts: openAiOptions.timeouts,
  }),
])
export type ModerationConfig = z.output<typeof ModerationConfig>

const Label = z.string().min(1).max(labelCharacters)
const Labels = z.array(Label).max(labelsOfCharacter)
const Iso = Moment.transform(text => new Date(text).toISOString())

const Review = z.strictObject({
  username: Label,
  rating: count(1, 5),
  message: Text.optional(),
  locale: Label.optional(),
  createdAt: Iso,
})

const Character = z.strictObject({
  slug: z.string().regex(/^[\w-]{1,100}$/, 'letters, digits, - and _, at most 100'),
  name: Label,
  description: Text.optional(),
  /** Never part of an answer. */
  instructions: Text.min(1),
  modelId: z.string().min(1),
  tags: Labels.optional(),
  categories: Labels.optional(),
  author: Label.optional(),
  adult: z.boolean().optional(),
  featured: z.boolean().optional(),
  webEnabled: z.boolean().optional(),
  photoUrl: HttpUrl.optional(),
  shareUrl: HttpUrl.optional(),
  createdAt: Iso,
  updatedAt: Iso.optional(),
  imports: count(0, Number.MAX_SAFE_INTEGER).optional(),
  reviews: z.array(Review).max(reviewsOfCharacter).optional(),
})

/** Characters for chats. */
const CharacterConfigs = z
  .array(Character)
  .max(charactersOfService)
  .refine(all => new Set(all.map(({ slug }) => slug)).size === all.length, 'Two characters share a slug')

const listenPattern = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/

/** `HOST:PORT`, with an IPv6 address in brackets. */
const Listen = z.string().transform((text, context) => {
  const [, host = '', port = ''] = listenPattern.exec(text) ?? []
  if (host && Number(port) <= 65_535) return { host: host.replaceAll(/[[\]]/g, ''), port: Number(port) }
  context.addIssue('Must be an address and a port, such as 127.0.0.1:8402')
  return z.NEVER
})

const PublicUrl = HttpUrl.refine(
  text => !URL.canParse(text) || new URL(text).pathname === '/',
  'Must be a URL without a path; the API is at /api/v1 there',
)

const Secret = z.string().min(secretCharacters, `Must have ${secretCharacters} random characters or more`)

const Metrics = z
  .strictObject({
    /** Required to read the metrics, except on a loopback address. */
    token: Secret.optional(),
    /** An address only for metrics. */
    listen: Listen.optional(),
    /** The number of customers with separate metrics; none by default, because each one is a series to store. */
    customers: count(0, 10_000).default(0),
  })
  .refine(
    ({ token, listen }) => token !== undefined || listen === undefined || isLoopbackHost(listen.host),
    'Metrics on an address that other machines can reach need a token',
  )
  .refine(({ token, listen }) => token !== undefined || listen !== undefined, 'Set token, listen, or both')

const isLoopbackHost = (host: string): boolean => isLoopback(host.includes(':') ? `[${host}]` : host)

const HttpsOrigin = PublicUrl.refine(
  text => text.startsWith('https:'),
  'Must be an https URL: only a TLS proxy may show the console elsewhere',
)

/** The operators' own address. */
const Admin = z.strictObject({
  /** A loopback address; 127.0.0.1:8405 by default. */
  listen: Listen.refine(
    ({ host }) => isLoopbackHost(host),
    'Must be a loopback address: the console speaks plain HTTP. Use an SSH tunnel, or a TLS proxy on this machine and `publicUrl`',
  ).optional(),
  /** The address of a TLS proxy on this machine in front of it. */
  publicUrl: HttpsOrigin.optional(),
})

/** A letterhead has at most a dozen lines. */
const sellerCharacters = 1_000

/** The customers' page. */
const Account = z.strictObject({
  /** Printed on invoices: a name, then lines such as an address and a tax number. `publicUrl` by default. */
  seller: z.string().min(1).max(sellerCharacters).optional(),
})

const logLevels = ['error', 'warn', 'info'] as const

/** Everything that `farebox.yaml` may contain. */
export const ConfigFile = z.strictObject({
  /** The address that callers use, without a path: `https://api.example.com`. */
  publicUrl: PublicUrl,
  listen: Listen.default({ host: '127.0.0.1', port: 8402 }),
  /** Proxies in front of the service and the console, whose `X-Forwarded-For` and `Forwarded` headers are trusted. */
  trustedProxies: TrustedNetworks.default([]),
  /** The folder of the ledger, media and secrets; relative to the file. */
  data: z.string().min(1).default('.farebox'),
  /** PostgreSQL or a path. By default DATABASE_URL, or a file in the folder. */
  database: z.string().min(1).optional(),
  /** Where finished videos and music are stored; `service/media` in the folder by default. */
  media: MediaConfig.optional(),
  /** A Valkey or Redis server through which several processes share limits; VALKEY_URL by default. */
  valkey: z
    .string()
    .regex(/^rediss?:\/\//, 'an address such as redis://127.0.0.1:6379')
    .optional(),
  /** The current one first. By default FAREBOX_SECRET, or the folder's. */
  secrets: z.tuple([Secret], Secret).optional(),
  vendor: Vendor.optional(),
  plan: z.enum(['default', 'partner']).default('default'),
  limits: LimitConfig.optional(),
  systemPrompt: Text.default(''),
  /** Detects faces in media with `@vladmandic/human`; if absent, every media file counts as one with a face. */
  faces: z.literal('human').optional(),
  /** Detects sexual content in generated images; if absent, `safe_mode` blurs nothing. */
  moderation: ModerationConfig.optional(),
  /** Private hosts that callers' addresses may name, as `host:port`. */
  fetchHosts: FetchHosts.default([]),
  /** For web searches, and for chats that request one. */
  search: SearchConfig.optional(),
  /** For pages that callers name, by themselves or in chats. */
  pages: PagesConfig.optional(),
  networks: NetworkConfigs.default([]),
  characters: CharacterConfigs.default([]),
  /** Transcribes videos. */
  transcriber: TranscriberConfig.optional(),
  logLevel: z.enum(logLevels).default('info'),
  metrics: Metrics.optional(),
  /** The operators' console, at its own address; false to disable it. */
  admin: z.union([z.literal(false), Admin]).default({}),
  /** The customers' page at `/account`; false for none. */
  account: z.union([z.literal(false), Account]).default({}),
  payments: PaymentConfig.optional(),
  staking: z
    .strictObject({
      rpcUrl: HttpUrl,
      contract: z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'an address: 0x and 40 hexadecimal digits'),
      decimals: count(0, 77).optional(),
    })
    .optional(),
  models: ModelConfigs,
})
export type ConfigFile = z.output<typeof ConfigFile>
