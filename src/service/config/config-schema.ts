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
} from './config-values.ts'
import { openAiOptions } from './engines/openai.ts'
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

/** Limits beside those of the plan; see `LimitSettings`. */
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
    /** Its settings have to list `json` under `search.formats`. */
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

/** The engine that reads web pages; without one the service refuses to. */
export const PagesConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('web'),
    /** Instead of those of the whole service. */
    fetchHosts: FetchHosts.optional(),
    convertMs: Milliseconds.optional(),
  }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type PagesConfig = z.output<typeof PagesConfig>

const Network = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'lower-case letters, digits and -, such as base-mainnet'),
  /** Each is asked when the one before it is unreachable. */
  urls: z.tuple([HttpUrl], HttpUrl).refine(urls => urls.length <= nodesOfNetwork, `At most ${nodesOfNetwork} nodes`),
  timeoutMs: Milliseconds.optional(),
  baseCredits: count(1, rpcCredits.mostBase).optional(),
})

/** Blockchains whose nodes callers may ask; which methods they may send is the same on every service. */
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
    /** What that server calls it. */
    model: z.string().min(1).max(1_000),
    timeouts: openAiOptions.timeouts,
  }),
  z.strictObject({ engine: z.literal('local') }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type TranscriberConfig = z.output<typeof TranscriberConfig>

/** What looks at images before they are sold. */
export const ModerationConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('nsfwjs'),
    /** How certain the model must be, from 0 to 1. */
    threshold: z.number().gt(0).lt(1).default(adultThreshold),
  }),
  z.strictObject({
    engine: z.literal('openai'),
    baseUrl: openAiOptions.baseUrl,
    apiKey: openAiOptions.apiKey,
    /** What that server calls it. */
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

/** Personas that a chat may be answered as. */
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
    /** An address for figures alone. */
    listen: Listen.optional(),
  })
  .refine(
    ({ token, listen }) => token !== undefined || listen === undefined || isLoopbackHost(listen.host),
    'Metrics on an address that other machines can reach need a token',
  )
  .refine(({ token, listen }) => token !== undefined || listen !== undefined, 'Set token, listen, or both')

const isLoopbackHost = (host: string): boolean => isLoopback(host.includes(':') ? `[${host}]` : host)

const logLevels = ['error', 'warn', 'info'] as const

/** All that `farebox.yaml` may say. */
export const ConfigFile = z.strictObject({
  /** The address that callers use, without a path: `https://api.example.com`. */
  publicUrl: PublicUrl,
  listen: Listen.default({ host: '127.0.0.1', port: 8402 }),
  /** Proxies before the service: `X-Forwarded-For` and `Forwarded` tell where a request comes from when one of them sends it. */
  trustedProxies: TrustedNetworks.default([]),
  /** The folder of the ledger, media and secrets; relative to the file. */
  data: z.string().min(1).default('.farebox'),
  /** PostgreSQL or a path; in the folder where absent, or where DATABASE_URL says. */
  database: z.string().min(1).optional(),
  /** A Valkey or Redis server, by which several processes share limits; where VALKEY_URL says where absent. */
  valkey: z
    .string()
    .regex(/^rediss?:\/\//, 'an address such as redis://127.0.0.1:6379')
    .optional(),
  /** The current one first; that of the folder, or of FAREBOX_SECRET, where absent. */
  secrets: z.tuple([Secret], Secret).optional(),
  vendor: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,30}$/, 'lower-case letters and digits')
    .optional(),
  plan: z.enum(['default', 'partner']).default('default'),
  limits: LimitConfig.optional(),
  systemPrompt: Text.default(''),
  /** Looks for faces in media with `@vladmandic/human`; where absent, every media file counts as one with a face. */
  faces: z.literal('human').optional(),
  /** Looks for sexual content in images that are made; where absent, `safe_mode` blurs nothing. */
  moderation: ModerationConfig.optional(),
  /** Hosts that callers' addresses may lead to although they are not public, as `host:port`. */
  fetchHosts: FetchHosts.default([]),
  /** For searches of the web, and for chats that ask for one. */
  search: SearchConfig.optional(),
  /** For pages that callers name, alone and in chats. */
  pages: PagesConfig.optional(),
  networks: NetworkConfigs.default([]),
  characters: CharacterConfigs.default([]),
  /** Writes down what is said in videos. */
  transcriber: TranscriberConfig.optional(),
  logLevel: z.enum(logLevels).default('info'),
  metrics: Metrics.optional(),
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
