import type { z } from 'zod'
import type { Log } from '#host/log.ts'
import type { ServiceOptions } from '../running/open-service.ts'
import type {
  ConfigFile,
  ModerationConfig,
  NetworkConfigs,
  PagesConfig,
  SearchConfig,
  TranscriberConfig,
} from './config-schema.ts'

/** What a service offers in addition to its models, as options of `openService`. */
export interface BesideModels {
  options: Pick<
    ServiceOptions,
    'search' | 'pages' | 'networks' | 'characters' | 'transcriber' | 'faces' | 'moderator' | 'fetchHosts'
  >
  /** Closes its threads and connections. */
  close(): Promise<void>
}

interface Closing {
  close(): Promise<void>
}

/** Each part is loaded if the file names it. Makes no requests. */
export async function openBesideModels(file: ConfigFile, log: Log): Promise<BesideModels> {
  const { search, pages, networks, characters, transcriber, faces, moderation, fetchHosts } = file
  const opened: Partial<Closing>[] = []
  const kept = async <Part extends object>(opening: Promise<Part>): Promise<Part> => {
    const part = await opening
    opened.push(part)
    return part
  }
  const options: BesideModels['options'] = {
    fetchHosts,
    characters: characters as NonNullable<ServiceOptions['characters']>,
    ...(search ? { search: await kept(openSearch(search)) } : {}),
    ...(pages ? { pages: await kept(openPages(pages)) } : {}),
    ...(transcriber ? { transcriber: await kept(openTranscriber(transcriber, log)) } : {}),
    ...(faces ? { faces: await kept(openFaces(log)) } : {}),
    ...(moderation ? { moderator: await kept(openModerator(moderation, log)) } : {}),
    networks: await Promise.all(networks.map(async network => ({ ...network, node: await kept(openNode(network)) }))),
  }
  return {
    options,
    async close() {
      await Promise.all(opened.map(part => part.close?.()))
    },
  }
}

async function openSearch(config: SearchConfig) {
  if (config.engine === 'demo') return openDemoWeb()
  const { SearxngSearch } = await import('#engines/web/web-pages.ts')
  const { baseUrl, language, timeoutMs } = config
  return new SearxngSearch({
    baseUrl,
    ...(language === undefined ? {} : { language }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
}

async function openPages(config: PagesConfig) {
  if (config.engine === 'demo') return openDemoWeb()
  const { WebPages } = await import('#engines/web/web-pages.ts')
  const { fetchHosts: privateHosts, convertMs } = config
  return new WebPages({ ...(privateHosts ? { privateHosts } : {}), ...(convertMs === undefined ? {} : { convertMs }) })
}

async function openDemoWeb() {
  const { DemoWeb } = await import('#engines/demo/web.ts')
  return new DemoWeb()
}

async function openNode({ urls, timeoutMs }: z.output<typeof NetworkConfigs>[number]) {
  const { JsonRpcNode } = await import('#engines/chain/json-rpc-node.ts')
  return new JsonRpcNode({ urls, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
}

async function openTranscriber(config: TranscriberConfig, log: Log) {
  const { AudioTranscriber } = await import('#engines/local/transcription.ts')
  if (config.engine === 'demo') {
    const { DemoTranscription } = await import('#engines/demo/audio.ts')
    return new AudioTranscriber({ engine: new DemoTranscription(), engineModel: 'demo' })
  }
  if (config.engine === 'local') {
    const { Pocketsphinx } = await import('#engines/local/transcription.ts')
    const onProblem = (problem: string) => log.warn({ upstream: 'transcriber', problem }, 'The transcriber failed.')
    return new AudioTranscriber({ engine: new Pocketsphinx({ onProblem }), engineModel: 'pocketsphinx' })
  }
  const [{ OpenAiTranscription }, { upstreamOf }] = await Promise.all([
    import('#engines/openai/audio.ts'),
    import('./engines/openai.ts'),
  ])
  const { model } = config
  const engine = new OpenAiTranscription(upstreamOf(config, { log, model, upstream: 'transcriber' }))
  return new AudioTranscriber({ engine, engineModel: model })
}

async function openFaces(log: Log) {
  const { HumanFaces } = await import('#engines/faces/human-faces.ts')
  return new HumanFaces({
    onProblem: error =>
      log.error({ err: error }, 'A media file could not be checked for faces; it was treated as showing one.'),
  })
}

async function openModerator(config: ModerationConfig, log: Log) {
  if (config.engine === 'nsfwjs') {
    const { NsfwModerator } = await import('#engines/moderation/moderators.ts')
    return new NsfwModerator(config)
  }
  const [{ OpenAiModerator }, { upstreamOf }] = await Promise.all([
    import('#engines/moderation/moderators.ts'),
    import('./engines/openai.ts'),
  ])
  const { model } = config
  return new OpenAiModerator({ ...upstreamOf(config, { log, model, upstream: 'moderation' }), model })
}
