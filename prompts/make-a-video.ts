import { z } from 'zod'
import { definePrompt } from '#toolkit/define.ts'

export default definePrompt({
  name: 'make-a-video',
  title: 'Make a video',
  description: 'From an idea to a saved file, with the price told first.',
  needs: ['models_find', 'video_quote', 'video_create', 'job_wait'],
  arguments: z.strictObject({
    idea: z.string().min(1).max(10_000).describe('What the video shows.'),
    budget_usd: z
      .string()
      .regex(/^\d{1,6}(\.\d{1,6})?$/, 'an amount such as 0.50')
      .optional()
      .describe('The most it may cost, such as 0.50.'),
    model: z.string().min(1).max(200).optional().describe('Id of a video model; else one that fits is chosen.'),
  }),
  choices: {
    model: async context => (await context.models()).flatMap(({ id, type }) => (type === 'video' ? id : [])),
  },

  write: ({ idea, budget_usd, model }) => `Make a video of this idea:

${idea}

1. Call models_find with type "video" and ${model ? `take the model \`${model}\`` : 'choose a model that fits the idea'}. Use only values from its record.
2. Call video_quote and tell me model, length, format and price. ${budget_usd ? `Go on by yourself if it costs at most ${budget_usd} USD; else stop and ask me.` : 'Wait for my yes.'}
3. Write a prompt that says what is seen, how it moves, and the style. Call video_create once.
4. If an answer asks for my decision or consent, show me its text whole and wait; never decide for me.
5. Call job_wait until the job is done; "still running" is no error. If it fails, tell me why and whether the price was refunded, and do not start another by yourself.
6. Tell me the path of the saved file, what was charged and what is left.`,
})
