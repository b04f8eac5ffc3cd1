import type { ChatCompletionRequest } from '#contract/chat.ts'
import type { EmbeddingRequest } from '#contract/embeddings.ts'
import type { ResponsesRequest } from '#contract/responses.ts'
import { mostOfAsked, shownModel } from './asked-models.ts'
import { chatBound } from './chat-bound.ts'
import { embeddingBound } from './embedding-bound.ts'
import type { ModelRecords } from './model-records.ts'
import { noSuchModel } from './no-such-model.ts'
import type { Pricer } from './priced-call.ts'
import { responseBound } from './response-bound.ts'

export const priceChat: Pricer = async ({ models }, call) => {
  const body = call as ChatCompletionRequest
  const { record, all } = await textModel(models, body.model)
  return { what: `A chat with ${shownModel(body.model)}`, amountMicroUsd: chatBound(record, body, all) }
}

export const priceResponse: Pricer = async ({ models }, call) => {
  const body = call as ResponsesRequest
  const { record, all } = await textModel(models, body.model)
  return { what: `A chat with ${shownModel(body.model)}`, amountMicroUsd: responseBound(record, body, all) }
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

async function textModel(models: ModelRecords, name: string) {
  const record = await models.find(name)
  const all = await models.all()
  if (record?.type !== 'text') throw noSuchModel('text', name, record, all)
  return { record, all }
}
