import { join } from 'node:path'
import { DemoChat } from '../../engines/demo/chat.ts'
import { DemoEmbeddings } from '../../engines/demo/embeddings.ts'
import { DemoImages } from '../../engines/demo/images.ts'
import { DemoVideo } from '../../engines/demo/video.ts'
import { defineEngineKind } from '../engine-kind.ts'

/** The demonstrations, to try a configuration with. */
export const demoKind = defineEngineKind({
  name: 'demo',
  options: {},
  engines: {
    text: () => new DemoChat(),
    embedding: () => new DemoEmbeddings(),
    image: () => new DemoImages(),
    // Its encoders and their files are one: a second one would write the same videos.
    video: (_, { keep, folder }) => keep('demo video', () => new DemoVideo({ workFolder: join(folder, 'demo') })),
  },
})
