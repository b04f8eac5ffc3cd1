import dns from 'node:dns'

/**
 * Every name under `.localhost` is this machine (RFC 6761), also where the system's resolver does not know it. Loaded
 * before the wallet, in this process or by `--import` in another one, so that hostile hosts have real names.
 */
const system = dns.lookup

function lookup(host: string, ...rest: unknown[]): void {
  if (!host.endsWith('.localhost')) return void Reflect.apply(system, dns, [host, ...rest])
  const done = rest.at(-1) as (error: null, address: unknown, family?: number) => void
  const options = rest.length > 1 ? (rest[0] as { all?: boolean }) : {}
  const answer = { address: '127.0.0.1', family: 4 }
  process.nextTick(() => (options.all ? done(null, [answer]) : done(null, answer.address, answer.family)))
}

Reflect.set(dns, 'lookup', lookup)
