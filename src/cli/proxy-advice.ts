import { isPublicAddress } from '#contract/wire/network-address.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'

/** What an operator should know about proxies before the service; `next` is what to do. */
export interface ProxyAdvice {
  says: string
  next?: string
}

const isEveryInterface = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** Whether callers can be told apart by their addresses: all have one where a proxy that is not named passes them on. Null where only this network reaches the service. */
export function proxyAdvice({
  listen,
  trustedProxies,
}: Pick<ConfigFile, 'listen' | 'trustedProxies'>): ProxyAdvice | null {
  if (trustedProxies.length) return { says: `${trustedProxies.join(', ')} may say where requests come from.` }
  if (!isEveryInterface(listen.host) && !isPublicAddress(listen.host)) return null
  return {
    says: `The service listens on ${listen.host}, which others reach, and trusts no proxy.`,
    next: 'If a proxy stands before it, name it in `trustedProxies`: else all callers share one address, its limits and its block.',
  }
}
