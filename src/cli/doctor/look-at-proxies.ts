import { isPublicAddress } from '#contract/network-address.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import { type Finding, note, ok } from './finding.ts'

const check = 'proxies'

const isEveryInterface = (host: string): boolean => host === '0.0.0.0' || host === '::'

/** Whether callers can be told apart by their addresses; all have one where a proxy that is not named passes them on. */
export function lookAtProxies({ listen, trustedProxies }: Pick<ConfigFile, 'listen' | 'trustedProxies'>): Finding[] {
  if (trustedProxies.length) return [ok(check, `${trustedProxies.join(', ')} may say where requests come from.`)]
  if (!isEveryInterface(listen.host) && !isPublicAddress(listen.host)) return []
  return [
    note(
      check,
      `The service listens on ${listen.host}, which others reach, and trusts no proxy.`,
      'If a proxy stands before it, name it in `trustedProxies`: else all callers share one address, its limits and its block.',
    ),
  ]
}
