import { Agent, request } from 'undici'
import { z } from 'zod'
import { bytesWithin } from '#host/network.ts'

/** How long a local server may take to list its models; the search should hardly be noticeable. */
const localServerMs = 500

/** Largest such list. */
const localListBytes = 1024 * 1024
const localModels = 1_000

/** A server, usually on this machine, that speaks OpenAI's API, with the models that it lists. */
export interface LocalServer {
  /** The software that usually listens there. */
  name: string
  /** `http://127.0.0.1:11434/v1` */
  baseUrl: string
  /** None if it requires a key. */
  models: readonly LocalModel[]
  requiresKey: boolean
}

interface LocalModel {
  id: string
  /** Null if the server does not report it. */
  contextTokens: number | null
}

export interface LocalPlace {
  name: string
  port: number
}

/** Default ports of common servers. */
export const localPlaces: readonly LocalPlace[] = [
  { name: 'Ollama', port: 11_434 },
  { name: 'LM Studio', port: 1_234 },
  { name: 'vLLM', port: 8_000 },
  { name: 'llama.cpp', port: 8_080 },
  { name: 'SGLang', port: 30_000 },
  { name: 'Jan', port: 1_337 },
  { name: 'KoboldCpp', port: 5_001 },
]

const tokens = z.number().int().min(1).optional().catch(undefined)

const Listed = z.object({
  data: z
    .array(
      z.looseObject({
        id: z.string().min(1).max(500),
        // The member's name in vLLM and SGLang, in llama.cpp, and in others.
        max_model_len: tokens,
        context_length: tokens,
        meta: z.looseObject({ n_ctx: tokens, n_ctx_train: tokens }).nullish().catch(null),
      }),
    )
    .max(localModels),
})

/**
 * Probes only the well-known ports of this machine, or of the given host, all at once; a server that does not answer in
 * time counts as missing.
 */
export async function findLocalServers(
  places: readonly LocalPlace[] = localPlaces,
  timeoutMs = localServerMs,
  host = '127.0.0.1',
): Promise<LocalServer[]> {
  const agent = new Agent({ connect: { timeout: timeoutMs }, connections: 1 })
  try {
    const found = await Promise.all(
      places.map(place => serverAt({ ...place, host }, agent, timeoutMs).catch(() => null)),
    )
    return found.filter(server => server !== null)
  } finally {
    await agent.destroy()
  }
}

async function serverAt(
  { name, host, port }: LocalPlace & { host: string },
  dispatcher: Agent,
  timeoutMs: number,
): Promise<LocalServer | null> {
  const baseUrl = `http://${host}:${port}/v1`
  const signal = AbortSignal.timeout(timeoutMs)
  const { statusCode, body } = await request(`${baseUrl}/models`, { dispatcher, signal })
  const bytes = await bytesWithin(body, localListBytes)
  if (statusCode === 401 || statusCode === 403) return { name, baseUrl, models: [], requiresKey: true }
  if (!bytes || statusCode !== 200) return null
  const listed = Listed.safeParse(JSON.parse(bytes.toString('utf8')))
  if (!listed.success || !listed.data.data.length) return null
  const models = listed.data.data.map(({ id, max_model_len, context_length, meta }) => ({
    id,
    contextTokens: max_model_len ?? context_length ?? meta?.n_ctx ?? meta?.n_ctx_train ?? null,
  }))
  return { name, baseUrl, models, requiresKey: false }
}
