import { join } from 'node:path'
import { z } from 'zod'
import type { JobUpstreamOptions, UpstreamOptions } from '#engines/http/upstream-options.ts'
import { OpenAiSpeech, OpenAiTranscription } from '#engines/openai/audio.ts'
import { OpenAiChat, ownMembers } from '#engines/openai/chat.ts'
import { runningUsages } from '#engines/openai/chat-stream.ts'
import { OpenAiEmbeddings } from '#engines/openai/embeddings.ts'
import { OpenAiImageEdits, OpenAiImages } from '#engines/openai/images.ts'
import { OpenAiVideos } from '#engines/openai/videos.ts'
import {
  ServiceChat,
  ServiceImages,
  ServiceSpeech,
  ServiceTranscription,
  ServiceVideo,
} from '#engines/service/service-engines.ts'
import { HttpUrl, Milliseconds, Vendor } from '../config-values.ts'
import { defineEngineKind, type EngineSurroundings, keptByOptions } from '../define-kind.ts'

/** Members of a request that an operator may set. */
const isForeign = [
  (members: object) => !Object.keys(members).some(name => ownMembers.includes(name)),
  `without members that farebox writes itself (${ownMembers.join(', ')})`,
] as const

/** Paths of names: `chat_template_kwargs.enable_thinking` is only that member; for a list, that of each item. */
const PassMembers = z
  .array(
    z
      .string()
      .max(200)
      .regex(/^\w+(\.\w+)*$/, 'a member by its name, or its path such as chat_template_kwargs.enable_thinking')
      .refine(
        path => !ownMembers.includes(path.split('.')[0] ?? ''),
        `not one that farebox writes itself (${ownMembers.join(', ')})`,
      ),
  )
  .max(100)

export const openAiOptions = {
  /** Including the version: `http://127.0.0.1:8000/v1`. */
  baseUrl: HttpUrl,
  apiKey: z.string().optional(),
  /** Whether two requests for a video with the same `Idempotency-Key` make one. */
  takesKeys: z.boolean().optional(),
  lengthMember: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  /** Mistral's API always reports the usage of a stream, and rejects the member that asks for it. */
  lacksStreamOptions: z.boolean().optional(),
  /** How the server reports running usage in a stream: the first is for vLLM and SGLang, the second for llama.cpp. */
  runningUsage: z.enum(runningUsages).optional(),
  /** Members of a caller's chat that this server gets in addition to the published ones. */
  passMembers: PassMembers.optional(),
  /**
   * Members that this server gets in addition to an effort if a caller wants no thinking, such as a template's switch.
   */
  withoutThinking: z
    .record(z.string(), z.unknown())
    .refine(...isForeign)
    .optional(),
  /** The model's own search: `responses` for xAI's API, or the members that a gateway accepts in a chat. */
  xSearch: z
    .union([
      z.literal('responses'),
      z.strictObject({ members: z.record(z.string(), z.unknown()).refine(...isForeign) }),
    ])
    .optional(),
  /** For images and edits; OpenAI’s newer models always return base64, and reject the member that asks for it. */
  lacksResponseFormat: z.boolean().optional(),
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

type Options = Pick<z.output<z.ZodObject<typeof openAiOptions>>, 'baseUrl' | 'apiKey' | 'timeouts'>

/** Any server with OpenAI's API. */
export const openAiKind = defineEngineKind({
  name: 'openai',
  options: openAiOptions,
  onlyFor: {
    lengthMember: ['text'],
    lacksStreamOptions: ['text'],
    passMembers: ['text'],
    runningUsage: ['text'],
    withoutThinking: ['text'],
    xSearch: ['text'],
    takesKeys: ['video'],
    lacksResponseFormat: ['image', 'inpaint'],
  },
  engines: {
    text: (given, around) =>
      new OpenAiChat({
        ...upstreamOf(given, around),
        lengthMember: given.lengthMember,
        lacksStreamOptions: given.lacksStreamOptions ?? false,
        passMembers: given.passMembers ?? [],
        withoutThinking: given.withoutThinking ?? {},
        runningUsage: given.runningUsage,
        ...(given.xSearch === undefined
          ? {}
          : { xSearch: given.xSearch === 'responses' ? given.xSearch : given.xSearch.members }),
      }),
    embedding: (given, around) => new OpenAiEmbeddings(upstreamOf(given, around)),
    image: (given, around) =>
      new OpenAiImages({
        ...upstreamOf(given, around),
        lacksResponseFormat: given.lacksResponseFormat ?? false,
      }),
    tts: (given, around) => new OpenAiSpeech(upstreamOf(given, around)),
    asr: (given, around) => new OpenAiTranscription(upstreamOf(given, around)),
    video: (given, around) => {
      const takesKeys = given.takesKeys ?? false
      return keptVideo('openai', given, around, options => new OpenAiVideos({ ...options, takesKeys }))
    },
    inpaint: (given, around) =>
      new OpenAiImageEdits({
        ...upstreamOf(given, around),
        lacksResponseFormat: given.lacksResponseFormat ?? false,
      }),
  },
})

/** Options of every engine of this kind; a new kind takes no others. */
export const upstreamOf = (
  { baseUrl, apiKey, timeouts }: Options,
  around: Pick<EngineSurroundings, 'log' | 'model' | 'upstream'>,
): UpstreamOptions => ({
  baseUrl,
  ...(apiKey === undefined ? {} : { apiKeyVariable: 'apiKey', environment: { apiKey } }),
  ...(timeouts ? { timeouts } : {}),
  onProblem: ({ host, status, code }) =>
    around.log.warn({ model: around.model, upstream: around.upstream, host, status, code }, 'An upstream failed.'),
})

/**
 * A video engine stays the same across a reload: only it knows which jobs it has recorded as sending but not sent, and
 * another engine would assume that its server may have them.
 */
function keptVideo<Engine>(
  kind: string,
  given: Options & { takesKeys?: boolean | undefined; passMembers?: readonly string[] | undefined },
  around: EngineSurroundings,
  make: (options: JobUpstreamOptions) => Engine,
): Engine {
  const { baseUrl, apiKey, timeouts, takesKeys, passMembers } = given
  const options = { baseUrl, apiKey, timeouts, takesKeys, passMembers }
  return keptByOptions(`${kind} video`, options, around, () => make(jobUpstreamOf(given, around)))
}

/** Videos are returned in a folder per upstream. */
const jobUpstreamOf = (given: Options, around: EngineSurroundings): JobUpstreamOptions => ({
  ...upstreamOf(given, around),
  workFolder: join(around.folder, 'videos', around.upstream),
})

/** Another service with this API, with the version in its address: `https://api.example.com/api/v1`. */
export const serviceKind = defineEngineKind({
  name: 'service',
  options: {
    baseUrl: openAiOptions.baseUrl,
    apiKey: openAiOptions.apiKey,
    timeouts: openAiOptions.timeouts,
    passMembers: openAiOptions.passMembers,
    /** The vendor word in its headers and members. */
    vendor: Vendor.optional(),
    /** Whether it recognizes a repeated request by its `Idempotency-Key`, as farebox does. */
    takesKeys: z.boolean().optional(),
  },
  onlyFor: { passMembers: ['text', 'video'], takesKeys: ['video'] },
  engines: {
    text: (given, around) =>
      new ServiceChat({
        ...upstreamOf(given, around),
        passMembers: given.passMembers ?? [],
        ...(given.vendor === undefined ? {} : { vendor: given.vendor }),
      }),
    embedding: (given, around) => new OpenAiEmbeddings(upstreamOf(given, around)),
    image: (given, around) =>
      new ServiceImages({
        ...upstreamOf(given, around),
        ...(given.vendor === undefined ? {} : { vendor: given.vendor }),
      }),
    tts: (given, around) => new ServiceSpeech(upstreamOf(given, around)),
    asr: (given, around) => new ServiceTranscription(upstreamOf(given, around)),
    video: (given, around) => {
      const { takesKeys = true, passMembers = [] } = given
      return keptVideo('service', given, around, options => new ServiceVideo({ ...options, takesKeys, passMembers }))
    },
  },
})
