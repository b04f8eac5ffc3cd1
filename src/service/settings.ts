import type { PlanName } from '#contract/limits.ts'
import type { PaymentOption } from '#contract/payment.ts'
import type { BodyRoomBytes } from './limits/body-room.ts'
import type { LimitSettings } from './limits/limit-settings.ts'

/** Everything an operator decides, read once at start; nothing in here is a secret. */
export interface ServiceSettings {
  /** The address that callers use, without a path: `http://127.0.0.1:8402`. Never taken from a request. */
  publicUrl: string
  /** Hosts that a sign-in message may name. */
  signInDomains: readonly string[]
  /** Lets one sign-in header serve until it expires, for clients that send it again. */
  signInWindow: boolean
  vendor: string
  /** What `x-service-host-name` says. */
  hostName: string
  /** Comes before the caller's own system prompts unless they say no; empty for none. */
  systemPrompt: string
  plan: PlanName
  /** What the operator changed of the plan's limits, for all or for one account. */
  limits?: LimitSettings | undefined
  /** Bytes that bodies may hold at once; the named ones where absent. */
  bodyRoom?: BodyRoomBytes
  /** What a top-up offers, one entry a rail, the amount at its minimum. */
  paymentOptions: readonly PaymentOption[]
  /** Addresses and networks of proxies whose word counts on where a request comes from; none where absent. */
  trustedProxies?: readonly string[]
  /** Where finished media lie. */
  mediaFolder: string
  /** Hosts, as `host:port`, that callers' addresses may lead to although they are not public. */
  fetchHosts?: readonly string[]
}

export const basePath = '/api/v1'

/** The base URL of the contract. */
export const baseUrl = (settings: Pick<ServiceSettings, 'publicUrl'>): string => `${settings.publicUrl}${basePath}`

/** Where a caller can read on. */
export const docsUrl = (settings: Pick<ServiceSettings, 'publicUrl'>): string => `${baseUrl(settings)}/openapi.yaml`
