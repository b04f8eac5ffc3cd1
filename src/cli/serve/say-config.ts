import { isPublicAddress } from '#contract/wire/network-address.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'

/** What a configuration would serve, without a secret. */
export function sayConfig(file: ConfigFile): string[] {
  const { publicUrl, listen, payments, models } = file
  const beside = besideModels(file)
  const proxies = proxyAdvice(file)
  const rails = payments ? ['Base or its like', ...(payments.solana ? ['Solana'] : [])] : []
  const rows = (models as unknown as { id: string; type: string; upstreams: { engine: string }[] }[]).map(
    ({ id, type, upstreams }) => [id, type, upstreams.map(({ engine }) => engine).join(', ')],
  )
  const widths = [0, 1].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return [
    `Would serve ${publicUrl} on ${listen.host}:${listen.port}.`,
    ...(proxies ? [[proxies.says, proxies.next].filter(Boolean).join(' ')] : []),
    rails.length ? `Top-ups in USDC on ${rails.join(' and ')}.` : 'No top-ups: credit comes with keys alone.',
    ...(beside.length ? [`Beside models: ${beside.join('; ')}.`] : []),
    'Models:',
    ...rows.map(row => `  ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd()),
  ]
}

function besideModels({ search, pages, networks, characters, transcriber, faces, moderation }: ConfigFile): string[] {
  return [
    ...(search ? [`searches (${search.engine})`] : []),
    ...(pages ? [`pages (${pages.engine})`] : []),
    ...(networks.length ? [`nodes of ${networks.map(({ slug }) => slug).join(', ')}`] : []),
    ...(characters.length ? [`characters ${characters.map(({ slug }) => slug).join(', ')}`] : []),
    ...(transcriber ? [`words of videos (${transcriber.engine})`] : []),
    ...(faces ? [`looks for faces (${faces})`] : []),
    ...(moderation ? [`moderation of images (${moderation.engine})`] : []),
  ]
}

/** What an operator should know about proxies before the service; `next` is what to do. */
interface ProxyAdvice {
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
