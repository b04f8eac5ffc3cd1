import { z } from 'zod'
import { SpeechFormat, speechTypes } from '#contract/operations/audio.ts'
import { pooledJobs, pooledSpeech, pooledTranscription } from '#engines/upstreams/pooled-engines.ts'
import { count, PerMillionUsd, Usd } from '../config-values.ts'
import { defineModelKind } from '../define-kind.ts'

const Name = z.string().min(1).max(200)

/** The contract's limits for a request. */
const Speed = z.number().min(0.25).max(4)

const daySeconds = 24 * 60 * 60

/** Formats that every browser plays, the smallest first. */
const trialFormats = ['mp3', 'flac', 'wav'] as const

export const speechKind = defineModelKind({
  type: 'tts',
  shape: {
    /** The first is the default. */
    voices: z.tuple([Name], Name),
    formats: z.tuple([SpeechFormat], SpeechFormat).default(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']),
    hasSpeed: z.boolean().default(true),
    /** Whether it accepts instructions on how to speak. */
    hasStyle: z.boolean().default(false),
    hasSampling: z.boolean().default(false),
    /** For an engine that clones voices from recordings, with one upstream. */
    voiceCloning: z
      .strictObject({
        acceptedFormats: z
          .array(z.enum(['wav', 'mp3', 'flac', 'ogg', 'mp4', 'webm', 'aac']))
          .min(1)
          .default(['wav', 'mp3', 'flac']),
        minimumSampleSeconds: count(1, 60).default(5),
      })
      .optional(),
    /** Any language if absent. */
    languages: z.array(Name).max(1_000).optional(),
    price: z.strictObject({ perMillionCharactersUsd: PerMillionUsd }),
  },
  members: ({ price, languages, voiceCloning, ...members }) => ({
    ...members,
    ...(languages === undefined ? {} : { languages }),
    // Each request includes its voice; nothing is trained.
    ...(voiceCloning === undefined ? {} : { voiceCloning: { mode: 'zero_shot' as const, ...voiceCloning } }),
    price: { perCharacterPicoUsd: price.perMillionCharactersUsd },
  }),
  trial: async (engine, { voices: [voice], formats }, call) => {
    const made = (await engine.formats?.()) ?? formats
    const format = trialFormats.find(each => formats.includes(each) && made.includes(each))
    if (!format) throw new Error('The engine produces no format that browsers can play.')
    const bytes = await engine.speak({ ...call, request: { text: 'This is a test.', voice, format, speed: 1 } })
    return { type: speechTypes[format], bytes }
  },
  pooled: pooledSpeech,
})

export const transcriptionKind = defineModelKind({
  type: 'asr',
  shape: {
    hasTimestamps: z.boolean().default(false),
    longestSeconds: count(1, daySeconds).default(3_600),
    price: z.strictObject({ perSecondUsd: Usd }),
  },
  members: ({ price, ...members }) => ({
    ...members,
    price: { perSecondPicoUsd: price.perSecondUsd * 1_000_000n },
  }),
  pooled: pooledTranscription,
})

export const musicKind = defineModelKind({
  type: 'music',
  shape: {
    durations: z.union([
      z.strictObject({ default: count(1, daySeconds), options: z.array(count(1, daySeconds)).min(1).max(100) }),
      z.strictObject({ default: count(1, daySeconds), least: count(1, daySeconds), most: count(1, daySeconds) }),
    ]),
    promptCharacters: z
      .strictObject({ least: count(1, 10_000), most: count(1, 10_000) })
      .default({ least: 1, most: 1_000 }),
    lyrics: z.strictObject({ characters: count(1, 20_000), areRequired: z.boolean() }).optional(),
    hasInstrumental: z.boolean().default(false),
    hasLyricsOptimizer: z.boolean().default(false),
    voices: z.array(Name).max(1_000).default([]),
    hasLanguageCode: z.boolean().default(false),
    /** Absent if it cannot be chosen. */
    speed: z.strictObject({ least: Speed, most: Speed, default: Speed }).optional(),
    formats: z
      .array(z.enum(['mp3', 'wav', 'flac']))
      .min(1)
      .default(['mp3']),
    price: z.strictObject({ per: z.enum(['generation', 'second', 'thousand-characters']), usd: Usd }),
  },
  members: ({ price, lyrics, speed, ...members }) => ({
    ...members,
    ...(lyrics === undefined ? {} : { lyrics }),
    ...(speed === undefined ? {} : { speed }),
    price: { per: price.per, microUsd: price.usd },
  }),
  pooled: pooledJobs,
})
