import { z } from 'zod'
import { isLoopback } from '#contract/wire/network-address.ts'
import { secretCharacters } from './bounds.ts'
import { count, FetchHosts, HttpUrl, Text, TrustedNetworks } from './config-values.ts'
import { ModelConfigs } from './model-config.ts'
import { PaymentConfig } from './payment-config.ts'
import {
  CharacterConfigs,
  LimitConfig,
  ModerationConfig,
  NetworkConfigs,
  PagesConfig,
  SearchConfig,
  TranscriberConfig,
} from './sections.ts'

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
  'Must be an address without a path; the API is below /api/v1 of it',
)

const Secret = z.string().min(secretCharacters, `Must have ${secretCharacters} random characters or more`)

const Metrics = z
  .strictObject({
    /** Whoever reads figures has to have it, but on a loopback address of their own. */
    token: Secret.optional(),
    /** An address for figures alone. */
    listen: Listen.optional(),
  })
  .refine(
    ({ token, listen }) => token !== undefined || listen === undefined || isLoopbackHost(listen.host),
    'Figures on an address that others reach need a token',
  )
  .refine(({ token, listen }) => token !== undefined || listen !== undefined, 'Set token, listen, or both')

const isLoopbackHost = (host: string): boolean => isLoopback(host.includes(':') ? `[${host}]` : host)

export const logLevels = ['error', 'warn', 'info'] as const
export type LogLevel = (typeof logLevels)[number]

/** All that `farebox.yaml` may say. */
export const ConfigFile = z.strictObject({
  /** The address that callers use, without a path: `https://api.example.com`. */
  publicUrl: PublicUrl,
  listen: Listen.default({ host: '127.0.0.1', port: 8402 }),
  /** Proxies before the service: `X-Forwarded-For` and `Forwarded` tell where a request comes from when one of them sends it. */
  trustedProxies: TrustedNetworks.default([]),
  /** The folder of books, media and secrets; relative to the file. */
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
  /** Looks for faces in media with `@vladmandic/human`; where absent, every medium counts as one with a face. */
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
