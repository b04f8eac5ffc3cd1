import type { AccessSettings } from '#access/settings.ts'

/** Everything an operator decides, read once at start; nothing in here is a secret. */
export interface ServiceSettings extends AccessSettings {
  vendor: string
  /** What `x-service-host-name` says. */
  hostName: string
  /** Comes before the caller's own system prompts unless they say no; empty for none. */
  systemPrompt: string
  /** Where finished media lie. */
  mediaFolder: string
  /** Hosts, as `host:port`, that callers' addresses may lead to although they are not public. */
  fetchHosts?: readonly string[]
}
