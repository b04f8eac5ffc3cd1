import { z } from 'zod'
import { GgufChat } from '#engines/gguf/chat.ts'
import { count } from '../config-values.ts'
import { defineEngineKind } from '../engine-kind.ts'

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
