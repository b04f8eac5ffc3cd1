import { z } from 'zod'
import { otherLimitNames } from '#contract/limits.ts'
import { rpcCredits } from '#contract/operations/rpc.ts'
import { adultThreshold } from '#engines/moderation/moderators.ts'
import { networkCount } from '../capabilities/rpc/bounds.ts'
import {
  charactersOfService,
  labelCharacters,
  labelsOfCharacter,
  nodesOfNetwork,
  requestsPerMinute,
  reviewsOfCharacter,
  tokensPerMinute,
} from './bounds.ts'
import { count, FetchHosts, HttpUrl, Milliseconds, Moment, Text } from './config-values.ts'
import { openAiOptions } from './engines/openai.ts'

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
export const LimitConfig = z.strictObject({
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
    baseUrl: HttpUrl.refine(isOpen, 'Must have no user and no password in it'),
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
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'small letters, digits and -: base-mainnet'),
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
export const CharacterConfigs = z
  .array(Character)
  .max(charactersOfService)
  .refine(all => new Set(all.map(({ slug }) => slug)).size === all.length, 'Two characters share a slug')
