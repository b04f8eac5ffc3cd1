import type { ModelType } from './models.ts'
import type { CallOf, Operation } from './operation.ts'
import type { operations } from './operations.ts'

type Operations = (typeof operations)[number]
export type OperationId = Operations['id']
type ById<Id extends OperationId> = Extract<Operations, { id: Id }>

/** A file in a form; the caller replaces it with one of their own. */
export class ExampleFile {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** Members of a body whose files are given only by name. */
type Named<Body> = Body extends object ? { [Member in keyof Body]: Body[Member] | ExampleFile } : Body

type Given<Name extends string, Value> = undefined extends Value ? { [N in Name]?: Value } : { [N in Name]: Value }

/** A request that works once the caller has replaced the names in capitals. */
export type Example<O extends Operation = Operation> = Given<'params', CallOf<O>['params']> &
  Given<'body', Named<CallOf<O>['body']>> & { query?: Partial<CallOf<O>['query']> }

/** Returns a model of this type that the service has. */
type ModelOf = (type: ModelType) => string

/** A white square of 256 × 256, small enough to be read in a terminal. */
const squareUrl =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAQAAAAEAAQAAAAB0CZXLAAAAM0lEQVR42u3KoQEAAAwCIP9/Wk9YXYBMeoggCIIgCIIgCIIgCIIgCIIgCIIgCIIgCMLvMPPS4dI8z/G7AAAAAElFTkSuQmCC'

const wallet = 'WALLET_ADDRESS'
const request = 'REQUEST_ID'
const queued = (model: string) => ({ model, queue_id: 'QUEUE_ID' })
const sentence = 'The tide turns twice a day.'

type ExampleFor<Id extends OperationId> = (modelOf: ModelOf) => Example<ById<Id>>

/** The operations that a request without parameters and body can call. */
type BareId = { [Id in OperationId]: object extends Example<ById<Id>> ? Id : never }[OperationId]

/**
 * One request for each operation that needs more than its path; its type ensures that it has that operation's shape.
 */
const examples: { [Id in Exclude<OperationId, BareId>]: ExampleFor<Id> } & { [Id in BareId]?: ExampleFor<Id> } = {
  listModels: () => ({ query: { type: 'all' } }),
  createChatCompletion: modelOf => ({
    body: {
      model: modelOf('text'),
      messages: [{ role: 'user', content: 'Why does the tide turn twice a day?' }],
      max_completion_tokens: 200,
    },
  }),
  createResponse: modelOf => ({
    body: { model: modelOf('text'), input: 'Why does the tide turn twice a day?', max_output_tokens: 200 },
  }),
  listCharacters: () => ({ query: { limit: 10 } }),
  getCharacterBySlug: () => ({ params: { slug: 'SLUG' } }),
  getCharacterReviews: () => ({ params: { slug: 'SLUG' } }),
  createEmbedding: modelOf => ({ body: { model: modelOf('embedding'), input: sentence } }),
  generateImage: modelOf => ({
    body: { model: modelOf('image'), prompt: 'A lighthouse at dusk', width: 512, height: 512 },
  }),
  simpleGenerateImage: modelOf => ({
    body: { model: modelOf('image'), prompt: 'A lighthouse at dusk', size: '1024x1024' },
  }),
  editImage: modelOf => ({ body: { model: modelOf('inpaint'), image: squareUrl, prompt: 'Make it blue' } }),
  multiEditImage: modelOf => ({
    body: { modelId: modelOf('inpaint'), images: [squareUrl, squareUrl], prompt: 'Put them side by side' },
  }),
  upscaleImage: modelOf => ({ body: { model: modelOf('upscale'), image: squareUrl, scale: 2 } }),
  backgroundRemoveImage: modelOf => ({ body: { model: modelOf('background'), image: squareUrl } }),
  webSearch: () => ({ body: { query: 'tide tables', limit: 5 } }),
  webScrape: () => ({ body: { url: 'https://example.com/' } }),
  createSpeech: modelOf => ({ body: { model: modelOf('tts'), input: sentence } }),
  createTranscription: modelOf => ({ body: { model: modelOf('asr'), file: new ExampleFile('recording.wav') } }),
  createClonedVoice: modelOf => ({ body: { model: modelOf('tts'), file: new ExampleFile('voice.wav') } }),
  createTextParser: () => ({ body: { file: new ExampleFile('document.pdf') } }),
  quoteAudio: modelOf => ({ body: { model: modelOf('music') } }),
  queueAudio: modelOf => ({ body: { model: modelOf('music'), prompt: 'A slow waltz for two violins' } }),
  retrieveAudio: modelOf => ({ body: queued(modelOf('music')) }),
  completeAudio: modelOf => ({ body: queued(modelOf('music')) }),
  quoteVideo: modelOf => ({ body: { model: modelOf('video'), duration: '5s' } }),
  queueVideo: modelOf => ({ body: { model: modelOf('video'), prompt: 'Waves at dusk', duration: '5s' } }),
  retrieveVideo: modelOf => ({ body: queued(modelOf('video')) }),
  completeVideo: modelOf => ({ body: queued(modelOf('video')) }),
  createVideoTranscription: () => ({ body: { url: 'https://example.com/talk.mp4' } }),
  cryptoRpcProxy: () => ({
    params: { network: 'NETWORK' },
    body: { jsonrpc: '2.0', method: 'eth_blockNumber', params: [], id: 1 },
  }),
  topUpX402Balance: () => ({ body: {} }),
  getX402Balance: () => ({ params: { walletAddress: wallet } }),
  getX402Transactions: () => ({ params: { walletAddress: wallet }, query: { limit: 10 } }),
  createApiKey: () => ({
    body: {
      apiKeyType: 'INFERENCE',
      description: 'For one program',
      consumptionLimit: { usd: 5 },
      limitPeriod: 'MONTH',
    },
  }),
  updateApiKey: () => ({ body: { id: 'KEY_ID', description: 'For another program' } }),
  deleteApiKey: () => ({ query: { id: 'KEY_ID' } }),
  postApiKeyGenerateWeb3Key: () => ({
    body: {
      apiKeyType: 'INFERENCE',
      description: 'For one program',
      address: wallet,
      signature: 'SIGNATURE',
      token: 'TOKEN',
    },
  }),
  getApiKeyById: () => ({ params: { id: 'KEY_ID' } }),
  getBillingUsage: () => ({ query: { limit: 20 } }),
  getBillingUsageAnalytics: () => ({ query: { lookback: '7d' } }),
  listReceipts: () => ({ query: { limit: 10 } }),
  getReceipt: () => ({ params: { request } }),
}

/** The example of an operation, with models that the service has. */
export const exampleOf = (id: string, modelOf: ModelOf): Example =>
  (examples[id as OperationId] as ((modelOf: ModelOf) => Example) | undefined)?.(modelOf) ?? {}
