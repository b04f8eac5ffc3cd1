import type { LocalServer } from '#engines/openai/find-local-servers.ts'
import { type ModelConfig, ModelConfigs } from './model-config.ts'

/** A chat model of a server that was found on this machine, as written to a configuration. */
export interface FoundModel {
  id: string
  contextTokens: number
  /** Whether the server reported it; if not, it is a careful guess. */
  contextIsKnown: boolean
  baseUrl: string
  /** The server's name for it. */
  model: string
  /** The software that usually listens there. */
  server: string
}

/**
 * Context length if a server does not report it: what Ollama and LM Studio load a model with by default. Ollama cuts off
 * a longer prompt without an error, and its caller would pay for the rest.
 */
const carefulContextTokens = 4_096

/** Names of models that are not for chats. */
const otherWork = /embed|rerank|whisper|tts|diffusion|clip|bge-/i

/** A model on a server's list that is left out, and why, as the end of a sentence. */
export interface LeftOutModel {
  model: string
  baseUrl: string
  why: string
}

/** Returns the chat models of these servers, each once, with ids that can be sold. */
export const foundModels = (servers: readonly LocalServer[], taken: readonly string[] = []): FoundModel[] =>
  lookedOver(servers, taken).found

/** Returns the chat models that can be sold, and those that cannot, so that a missing model is explained. */
export function lookedOver(
  servers: readonly LocalServer[],
  taken: readonly string[] = [],
): { found: FoundModel[]; leftOut: LeftOutModel[] } {
  const found = new Map<string, FoundModel>()
  const leftOut: LeftOutModel[] = []
  for (const { baseUrl, name: server, models, requiresKey } of servers) {
    if (requiresKey) leftOut.push({ model: 'every model', baseUrl, why: keyNeeded })
    for (const { id: model, contextTokens } of models) {
      const id = idOf(model)
      const why = whyNot(model, id, taken.includes(id) || found.has(id))
      if (why) leftOut.push({ model, baseUrl, why })
      else {
        const context = { contextTokens: contextTokens ?? carefulContextTokens, contextIsKnown: contextTokens !== null }
        found.set(id, { id, model, baseUrl, server, ...context })
      }
    }
  }
  return { found: [...found.values()], leftOut }
}

const keyNeeded = `the server requires a key. If it is a model server, add its models by hand, with apiKey as \${NAME}`

function whyNot(model: string, id: string, isTaken: boolean): string | null {
  if (otherWork.test(model)) return 'its name suggests that it is not a chat model; add it by hand with its type'
  if (id === '') return 'its name contains no character that is allowed in an id'
  return isTaken ? `another model already has the id ${id}` : null
}

/** Removes the folder, Ollama's default tag, and characters that an id cannot have. */
const idOf = (model: string): string =>
  model
    .replace(/^.*[\\/]/, '')
    .replace(/(:latest|\.gguf)$/, '')
    .replaceAll(/[^A-Za-z0-9._:-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 128)

/** As configurations, at the demonstrations' price. */
export const localModelConfigs = (found: readonly FoundModel[]): ModelConfig[] =>
  found.length ? (ModelConfigs.parse(found.map(configOf)) as unknown as ModelConfig[]) : []

const configOf = ({ id, contextTokens, baseUrl, model, server }: FoundModel) => ({
  id,
  type: 'text',
  description: `Served by ${server} on this machine.`,
  contextTokens,
  price: { inputPerMillionUsd: '0.15', outputPerMillionUsd: '0.60' },
  upstreams: [{ engine: 'openai', baseUrl, model }],
})

/** Writes a first configuration: the models that were found, or demonstrations. */
export function firstConfig(found: readonly FoundModel[]): string {
  const models = found.length ? found.map(modelLines) : [demoLines]
  return [
    '# The configuration of `farebox serve`. Validate it with `farebox serve --check`.',
    '# docs/reference/farebox-yaml.md of the package lists every setting, and its examples/farebox.yaml shows the usual ones.',
    '',
    '# The address that callers use, without a path.',
    'publicUrl: http://127.0.0.1:8402',
    'listen: 127.0.0.1:8402',
    '',
    '# The folder of the ledger, media and the service’s secret, relative to this file.',
    'data: .farebox',
    '',
    '# Prices are in USD. Replace those marked as guesses with your own.',
    `# Secrets come from the environment: apiKey: \${OPENAI_API_KEY}`,
    '# A model that accepts images needs `capabilities: { supportsVision: true }`.',
    'models:',
    ...models.map((lines, index) => lines(index === 0)),
    '',
  ].join('\n')
}

const modelLines =
  ({ id, contextTokens, contextIsKnown, baseUrl, model, server }: FoundModel) =>
  (isFirst: boolean): string =>
    [
      `  # Found at ${baseUrl}, where ${server} usually listens.`,
      `  - id: ${JSON.stringify(id)}`,
      '    type: text',
      ...(isFirst ? ['    traits: [default]'] : []),
      `    contextTokens: ${contextTokens}${contextIsKnown ? '' : ' # a guess: the server does not report it'}`,
      guessedPrice,
      '    upstreams:',
      `      - { engine: openai, baseUrl: ${JSON.stringify(baseUrl)}, model: ${JSON.stringify(model)} }`,
    ].join('\n')

const guessedPrice = '    price: { inputPerMillionUsd: 0.15, outputPerMillionUsd: 0.60 } # a guess'

const demoLines = (): string =>
  [
    '  # A demonstration, until you have a server of your own:',
    '  #   upstreams:',
    '  #     - { engine: openai, baseUrl: http://127.0.0.1:8000/v1, model: the-name-it-has-there }',
    '  - id: demo-chat',
    '    type: text',
    '    traits: [default]',
    '    contextTokens: 131072',
    guessedPrice,
    '    upstreams: [{ engine: demo }]',
  ].join('\n')
