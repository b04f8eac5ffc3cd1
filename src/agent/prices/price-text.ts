import type { MicroUsd } from '#contract/money.ts'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { EmbeddingRequest } from '#contract/operations/embeddings.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import type { ResponsesRequest } from '#contract/operations/responses.ts'
import { askedModels, mostOfAsked, shownModel } from './asked-models.ts'
import { chatBound } from './chat-bound.ts'
import { embeddingBound } from './embedding-bound.ts'
import type { ModelRecords } from './model-records.ts'
import { mostOf } from './most-of-answering.ts'
import type { Pricer } from './priced-call.ts'
import { responseBound } from './response-bound.ts'

export const priceChat: Pricer = async ({ models }, call) => {
  const body = call as ChatCompletionRequest
  const amountMicroUsd = await mostOfText(models, body, chatBound)
  return { what: `A chat with ${shownModel(body.model)}`, amountMicroUsd }
}

export const priceResponse: Pricer = async ({ models }, call) => {
  const body = call as ResponsesRequest
  const amountMicroUsd = await mostOfText(models, body, responseBound)
  return { what: `A chat with ${shownModel(body.model)}`, amountMicroUsd }
}

export const priceEmbedding: Pricer = async ({ models }, call) => {
  const body = call as EmbeddingRequest
  return {
    what: `Vectors by ${shownModel(body.model)}`,
    amountMicroUsd: await mostOfAsked(models, 'embedding', body.model, (record, all) =>
      embeddingBound(record, body, all),
    ),
  }
}

/** Options behind the name stay, behind the id of each model that may answer. */
async function mostOfText<Body extends { model: string }>(
  models: ModelRecords,
  body: Body,
  boundAt: (record: ModelRecord, body: Body, all: readonly ModelRecord[]) => MicroUsd | null,
): Promise<MicroUsd | null> {
  const { records, all, name } = await askedModels(models, 'text', body.model)
  const options = body.model.slice(name.length)
  if (records.length === 0) return null
  return mostOf(records, record => boundAt(record, { ...body, model: `${record.id}${options}` }, all))
}
