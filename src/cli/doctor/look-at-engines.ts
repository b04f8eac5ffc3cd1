import type { ConfigFile } from '#service/config/config-schema.ts'
import { ask, broken, type Finding, hostOf, note, ok } from './finding.ts'

interface Server {
  baseUrl: string
  apiKey?: string
  /** Where it says something without being paid. */
  path: string
  models: string[]
}

/** Servers that are asked at once; a file may name hundreds. */
const askedAtOnce = 8

/** Whether every server that a model runs on is there, and takes its key. Each is asked once. */
export async function lookAtEngines(file: ConfigFile): Promise<Finding[]> {
  const servers = serversOf(file)
  const found: Finding[] = []
  for (let at = 0; at < servers.length; at += askedAtOnce)
    found.push(...(await Promise.all(servers.slice(at, at + askedAtOnce).map(lookAt))))
  return found
}

const paths: Readonly<Record<string, string>> = { openai: '/models', service: '/models', comfyui: '/system_stats' }

function serversOf({ models, search, transcriber, moderation }: ConfigFile): Server[] {
  const servers = new Map<string, Server>()
  const add = (upstream: { engine: string; baseUrl?: string; apiKey?: string }, of: string) => {
    const { engine, baseUrl, apiKey } = upstream
    if (!baseUrl) return
    const known = servers.get(`${baseUrl} ${apiKey ?? ''}`)
    if (known) known.models.push(of)
    else {
      const server = { baseUrl, path: paths[engine] ?? '/', models: [of] }
      servers.set(`${baseUrl} ${apiKey ?? ''}`, apiKey === undefined ? server : { ...server, apiKey })
    }
  }
  const all = models as unknown as { id: string; upstreams: { engine: string; baseUrl?: string; apiKey?: string }[] }[]
  for (const { id, upstreams } of all) for (const upstream of upstreams) add(upstream, id)
  if (search?.engine === 'searxng') add(search, 'searches')
  if (transcriber?.engine === 'openai') add(transcriber as { engine: string; baseUrl: string }, 'words of videos')
  if (moderation?.engine === 'openai') add(moderation as { engine: string; baseUrl: string }, 'moderation of images')
  return [...servers.values()]
}

async function lookAt({ baseUrl, apiKey, path, models }: Server): Promise<Finding> {
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  const { status, reason } = await ask(`${baseUrl.replace(/\/+$/, '')}${path}`, { headers })
  const [host, of] = [hostOf(baseUrl), [...new Set(models)].slice(0, 5).join(', ')]
  const check = 'engine'
  if (status === 0)
    return broken(check, `${host} (${of}) is not reached: ${reason}.`, 'Start it, or fix its `baseUrl`.')
  if (status === 401 || status === 403)
    return broken(check, `${host} (${of}) refuses its key (${status}).`, 'Check its `apiKey`.')
  if (status >= 500) return broken(check, `${host} (${of}) answers ${status}.`, 'Look at its log.')
  if (status >= 300)
    return note(check, `${host} (${of}) answers, but not at ${path} (${status}).`, 'Check that its `baseUrl` is whole.')
  return ok(check, `${host} (${of}) answers.`)
}
