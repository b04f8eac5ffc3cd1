import { z } from 'zod'
import { createVoice } from '#contract/operations/audio.ts'
import { defineTool } from '#toolkit/define.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'

export default defineTool({
  name: 'voice_clone',
  set: 'audio',
  isDefault: false,
  title: 'Clone a voice',
  description:
    'Creates a voice for speech_create from a recording. Its id is valid for a few days. Use it only with the speaker’s permission; models also have built-in voices. Free.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    recording: z.string().min(1).describe('Path of the recording.'),
    model: z.string().min(1).optional().describe('Id from models_find.'),
  }),
  modelType: 'tts',
  sentAs: { file: 'recording' },
  output: z.object({ voice: z.string(), model: z.string() }),

  async run(context, { recording, model }) {
    const file = await context.files.asFormFile(recording, 'audio')
    const { answer } = await context.call(createVoice, {
      params: undefined,
      query: undefined,
      body: { file, ...(model === undefined ? {} : { model }) },
    })
    return { voice: untrustedId(answer.id), model: untrustedId(answer.model) }
  },

  say: ({ voice, model }) => `The voice is ${voice}, for ${model}. Pass it to speech_create as voice.`,
})
