import { z } from 'zod'
import { microUsd } from '#contract/money.ts'
import {
  UpscaleFactor,
  VideoAspectRatio,
  VideoDuration,
  VideoResolution,
  videoMediaFields,
} from '#contract/operations/video.ts'
import { pooledJobs } from '#engines/upstreams/pooled-engines.ts'
import { count, Text, Usd } from '../config-values.ts'
import { defineModelKind } from '../define-kind.ts'

const Choices = <Value extends z.ZodType>(value: Value) => z.array(value).max(100)

export const videoKind = defineModelKind({
  type: 'video',
  shape: {
    aspectRatios: Choices(VideoAspectRatio).default([]),
    resolutions: Choices(VideoResolution).default([]),
    durations: Choices(VideoDuration).default([]),
    /** Media that it accepts; if absent, an image as its first frame, unless its input is only text. */
    media: Choices(z.enum(videoMediaFields)).optional(),
    /** For an upscaler, whose prices are under `1x`, `2x` and `4x`. */
    upscaleFactors: Choices(UpscaleFactor).min(1).optional(),
    input: z.enum(['image-to-video', 'text-to-video', 'video']).default('text-to-video'),
    /** Whether it makes audio, and whether a request may choose. */
    audio: z.boolean().default(false),
    audioConfigurable: z.boolean().default(false),
    promptCharacters: count(1, 100_000).optional(),
    price: z.strictObject({
      /** By resolution; `all` for a model without that choice. */
      perSecondUsd: z.record(z.string(), Usd),
      audioPerSecondUsd: Usd.default(microUsd(0)),
      /** For all reference videos together. */
      referencePerSecondUsd: Usd.default(microUsd(0)),
    }),
    /** The policy that a user must agree to for images with a face. */
    consent: z
      .strictObject({ provider: z.string().min(1), title: z.string().min(1), version: z.string().min(1), text: Text })
      .optional(),
    delivery: z.enum(['inline', 'download_url']).default('inline'),
  },
  members: config => ({
    constraints: {
      aspect_ratios: config.aspectRatios,
      resolutions: config.resolutions,
      durations: config.durations,
      model_type: config.input,
      audio: config.audio,
      audio_configurable: config.audioConfigurable,
      ...(config.media === undefined ? {} : { media: config.media }),
      ...(config.upscaleFactors === undefined ? {} : { upscale_factors: config.upscaleFactors }),
      ...(config.promptCharacters === undefined ? {} : { prompt_character_limit: config.promptCharacters }),
    },
    price: {
      perSecondMicroUsd: Object.fromEntries(
        Object.entries(config.price.perSecondUsd).map(([name, amount]) => [name === 'all' ? '' : name, amount]),
      ),
      audioPerSecondMicroUsd: config.price.audioPerSecondUsd,
      referencePerSecondMicroUsd: config.price.referencePerSecondUsd,
    },
    consent: config.consent ?? null,
    delivery: config.delivery,
  }),
  pooled: pooledJobs,
})
