import { join } from 'node:path'
import { DemoMusic, DemoSpeech, DemoTranscription } from '#engines/demo/audio.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoEmbeddings } from '#engines/demo/embeddings.ts'
import { DemoImageEdits, DemoImages, demoImageWorker } from '#engines/demo/images.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { defineEngineKind, type EngineSurroundings } from '../define-kind.ts'

/** The demonstrations, to try a configuration with. */
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
    // Its encoders and their files are one: a second one would write the same videos.
    video: (_, { keep, folder }) => keep('demo video', () => new DemoVideo({ workFolder: join(folder, 'demo') })),
  },
})

/** One thread for all of them, and for each reload. */
const thread = ({ keep }: EngineSurroundings) => keep('demo images', demoImageWorker)
