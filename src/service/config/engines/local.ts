import { join } from 'node:path'
import { z } from 'zod'
import { DemoMusic, DemoSpeech, DemoTranscription } from '#engines/demo/audio.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoEmbeddings } from '#engines/demo/embeddings.ts'
import { DemoImageEdits, DemoImages, demoImageWorker } from '#engines/demo/images.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { EsrganUpscale } from '#engines/esrgan/upscale.ts'
import { GgufChat } from '#engines/gguf/chat.ts'
import { LocalEmbeddings } from '#engines/local/embeddings.ts'
import { FliteSpeech } from '#engines/local/flite-speech.ts'
import { Pocketsphinx } from '#engines/local/transcription.ts'
import { count } from '../config-values.ts'
import { defineEngineKind, type EngineSurroundings } from '../define-kind.ts'

/** The demonstration engines, for trying a configuration. */
export const demoKind = defineEngineKind({
  name: 'demo',
  options: {},
  engines: {
    text: () => new DemoChat(),
    embedding: () => new DemoEmbeddings(),
    image: (_, around) => new DemoImages(thread(around)),
    inpaint: (_, around) => new DemoImageEdits(thread(around)),
    upscale: (_, around) => new DemoImageEdits(thread(around)),
    background: (_, around) => new DemoImageEdits(thread(around)),
    tts: () => new DemoSpeech(),
    asr: () => new DemoTranscription(),
    music: (_, { folder }) => new DemoMusic({ workFolder: join(folder, 'demo') }),
    // One set of encoders and files: a second one would write the same videos.
    video: (_, { keep, folder }) => keep('demo video', () => new DemoVideo({ workFolder: join(folder, 'demo') })),
  },
})

/** One thread for all of them, across reloads. */
const thread = ({ keep }: EngineSurroundings) => keep('demo images', demoImageWorker)

/** Small models from packages, which run on this machine. */
export const localKind = defineEngineKind({
  name: 'local',
  options: {},
  engines: {
    upscale: (_, { keep }) => keep('local upscale', () => new EsrganUpscale()),
    tts: (_, { keep, log, model, upstream }) =>
      keep(
        'local speech',
        () => new FliteSpeech({ onProblem: problem => log.warn({ model, upstream, problem }, 'An upstream failed.') }),
      ),
    asr: (_, { keep, log, model, upstream }) =>
      keep(
        'local hearing',
        () => new Pocketsphinx({ onProblem: problem => log.warn({ model, upstream, problem }, 'An upstream failed.') }),
      ),
    embedding: (_, { keep, log, model, upstream }) =>
      keep(
        'local embeddings',
        () =>
          new LocalEmbeddings({ onProblem: problem => log.warn({ model, upstream, problem }, 'An upstream failed.') }),
      ),
  },
})

/** More contexts than any machine has memory for. */
const mostParallel = 1_024
const mostThreads = 1_024
const mostContextTokens = 10_000_000

/** A model file, run in this process. */
export const ggufKind = defineEngineKind({
  name: 'gguf',
  options: {
    path: z.string().min(1),
    contextTokens: count(1, mostContextTokens).optional(),
    /** Concurrent answers; each has its own context in memory. */
    parallel: count(1, mostParallel).default(1),
    threads: count(1, mostThreads).optional(),
  },
  concurrency: ({ parallel }) => parallel,
  engines: {
    text: ({ path, contextTokens, parallel, threads }, { keep, log, model, upstream }) =>
      // The model is in memory only once, however often the configuration is reloaded.
      keep(
        `gguf ${JSON.stringify([path, contextTokens, parallel, threads])}`,
        () =>
          new GgufChat({
            path,
            parallel,
            ...(contextTokens === undefined ? {} : { contextTokens }),
            ...(threads === undefined ? {} : { threads }),
            onProblem: error => log.warn({ model, upstream, problem: String(error) }, 'An upstream failed.'),
          }),
      ),
  },
})
