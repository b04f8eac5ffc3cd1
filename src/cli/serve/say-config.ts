import type { ConfigFile } from '#service/config/config-schema.ts'
import { proxyAdvice } from '../proxy-advice.ts'

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
