import { z } from 'zod'
import { EsrganUpscale } from '#engines/esrgan/upscale.ts'
import { GgufChat } from '#engines/gguf/chat.ts'
import { LocalEmbeddings } from '#engines/local/embeddings.ts'
import { FliteSpeech } from '#engines/local/flite-speech.ts'
import { Pocketsphinx } from '#engines/local/transcription.ts'
import { count } from '../config-values.ts'
import { defineEngineKind } from '../define-kind.ts'

/** Small models that come out of packages, and run on this machine. */
export const localKind = defineEngineKind({
  name: 'local',
  options: {},
  engines: {
    upscale: (_, { keep }) => keep('local upscale', () => new EsrganUpscale()),
    tts: (_, { keep, log, model, upstream }) =>
      keep(
        'local speech',
        () => new FliteSpeech({ onProblem: problem => log.warn({ model, upstream, problem }, 'A package failed.') }),
      ),
    asr: (_, { keep, log, model, upstream }) =>
      keep(
        'local hearing',
        () => new Pocketsphinx({ onProblem: problem => log.warn({ model, upstream, problem }, 'A program failed.') }),
      ),
    embedding: (_, { keep, log, model, upstream }) =>
      keep(
        'local embeddings',
        () =>
          new LocalEmbeddings({ onProblem: problem => log.warn({ model, upstream, problem }, 'A package failed.') }),
      ),
  },
})

/** More contexts than any machine has memory for. */
const mostParallel = 1_024
const mostThreads = 1_024
const mostContextTokens = 10_000_000

/** A file of weights, run in this process. */
export const ggufKind = defineEngineKind({
  name: 'gguf',
  options: {
    path: z.string().min(1),
    contextTokens: count(1, mostContextTokens).optional(),
    /** Answers at once; each has a context of its own in memory. */
    parallel: count(1, mostParallel).default(1),
    threads: count(1, mostThreads).optional(),
  },
  concurrency: ({ parallel }) => parallel,
  engines: {
    text: ({ path, contextTokens, parallel, threads }, { keep, log, model, upstream }) =>
      // The weights fill the memory once, whatever is read anew.
      keep(
        `gguf ${JSON.stringify([path, contextTokens, parallel, threads])}`,
        () =>
          new GgufChat({
            path,
            parallel,
            ...(contextTokens === undefined ? {} : { contextTokens }),
            ...(threads === undefined ? {} : { threads }),
            onProblem: error => log.warn({ model, upstream, problem: String(error) }, 'A GGUF file failed.'),
          }),
      ),
  },
})
