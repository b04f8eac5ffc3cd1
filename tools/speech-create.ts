import { z } from 'zod'
import { createSpeech, SpeechFormat, SpeechRequest } from '#contract/operations/audio.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument, plainNumber, plainText } from '#toolkit/input/arguments.ts'
import { MadeOutput, madeFiles, madeOutput, sayMade } from '#toolkit/output/paid.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'

/** Raw samples are not a file that players know. */
const FileFormat = SpeechFormat.exclude(['pcm'])

const asked = SpeechRequest.shape

export default defineTool({
  name: 'speech_create',
  set: 'audio',
  title: 'Convert text to speech',
  description:
    'Converts text to speech and saves it. Split long texts into several calls. For music or singing, use music_create. Paid per character.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    model: z.string().min(1).describe('Of type tts, from models_find.'),
    text: asked.input.describe('What to say.'),
    voice: plainText(asked.voice).optional().describe('From models_find.'),
    format: FileFormat.optional().describe('File format.'),
    speed: plainNumber(asked.speed).optional().describe('1 is normal.'),
    language: plainText(asked.language).optional().describe('Such as en.'),
    prompt: plainText(asked.prompt).optional().describe('How to speak, such as: very happy.'),
    again: againArgument,
  }),
  modelType: 'tts',
  app: 'media',
  sentAs: { input: 'text', response_format: 'format' },
  output: MadeOutput,

  async run(context, { again, text, format, ...choices }) {
    const body = { ...choices, input: text, response_format: format }
    const made = await context.make(createSpeech, { params: undefined, query: undefined, body }, { again })
    return madeOutput(made, choices.model)
  },

  say: sayMade,
  files: madeFiles,
  shows: ({ files }, { context }) => shownMedia(files, { context, input: {} }),
})
