import { z } from 'zod'
import { isVendor } from '#contract/wire/vendor.ts'
import { OpenAiEmbeddings } from '#engines/openai/embeddings.ts'
import {
  ServiceChat,
  ServiceImages,
  ServiceSpeech,
  ServiceTranscription,
  ServiceVideo,
} from '#engines/service/service-engines.ts'
import { defineEngineKind } from '../define-kind.ts'
import { keptVideo, openAiOptions, upstreamOf } from './openai.ts'

/** Another service of this contract, with the version in its address: `https://api.example.com/api/v1`. */
export const serviceKind = defineEngineKind({
  name: 'service',
  options: {
    baseUrl: openAiOptions.baseUrl,
    apiKey: openAiOptions.apiKey,
    timeouts: openAiOptions.timeouts,
    passMembers: openAiOptions.passMembers,
    /** The word in its headers and members. */
    vendor: z.string().refine(isVendor, 'Must be a word of small letters and digits').optional(),
    /** Whether it knows a request again by its `Idempotency-Key`, as farebox does. */
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
