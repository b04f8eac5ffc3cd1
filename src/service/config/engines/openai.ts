import { z } from 'zod'
import { OpenAiChat } from '../../engines/openai/chat.ts'
import { OpenAiEmbeddings } from '../../engines/openai/embeddings.ts'
import { OpenAiImages } from '../../engines/openai/images.ts'
import type { UpstreamOptions } from '../../engines/openai/upstream-options.ts'
import { HttpUrl, Milliseconds } from '../config-values.ts'
import { defineEngineKind, type EngineSurroundings } from '../engine-kind.ts'

const options = {
  /** With the version: `http://127.0.0.1:8000/v1`. */
  baseUrl: HttpUrl,
  apiKey: z.string().optional(),
  lengthMember: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  timeouts: z
    .strictObject({
      connectMs: Milliseconds,
      firstByteMs: Milliseconds,
      answerMs: Milliseconds,
      silenceMs: Milliseconds,
      streamMs: Milliseconds,
    })
    .partial()
    .optional(),
}

type Options = z.output<z.ZodObject<typeof options>>

/** Any server that speaks OpenAI's API. */
export const openAiKind = defineEngineKind({
  name: 'openai',
  options,
  engines: {
    text: (given, around) => new OpenAiChat({ ...upstreamOf(given, around), lengthMember: given.lengthMember }),
    embedding: (given, around) => new OpenAiEmbeddings(upstreamOf(given, around)),
    image: (given, around) => new OpenAiImages(upstreamOf(given, around)),
  },
})

/** For every engine of this kind: a new one takes no more than these. */
export const upstreamOf = ({ baseUrl, apiKey, timeouts }: Options, around: EngineSurroundings): UpstreamOptions => ({
  baseUrl,
  ...(apiKey === undefined ? {} : { apiKeyVariable: 'apiKey', environment: { apiKey } }),
  ...(timeouts ? { timeouts } : {}),
  onProblem: ({ host, status, code }) =>
    around.log.warn({ model: around.model, upstream: around.upstream, host, status, code }, 'An upstream failed.'),
})
