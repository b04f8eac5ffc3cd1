import { EsrganUpscale } from '#engines/esrgan/upscale.ts'
import { LocalEmbeddings } from '#engines/local/embeddings.ts'
import { FliteSpeech } from '#engines/local/flite-speech.ts'
import { Pocketsphinx } from '#engines/local/pocketsphinx.ts'
import { defineEngineKind } from '../engine-kind.ts'

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
