import { z } from 'zod'
import { definePrompt } from '#toolkit/define.ts'

export default definePrompt({
  name: 'make-a-video',
  title: 'Make a video',
  description: 'Make a video from an idea and save it; shows the price first.',
  needs: ['models_find', 'estimate', 'video_create', 'job_wait'],
  arguments: z.strictObject({
    idea: z.string().min(1).max(10_000).describe('What the video should show.'),
    budget_usd: z
      .string()
      .regex(/^\d{1,6}(\.\d{1,6})?$/, 'an amount such as 0.50')
      .optional()
      .describe('The maximum price in USD, such as 0.50.'),
    model: z.string().min(1).max(200).optional().describe('Id of a video model. Without it, a suitable one is chosen.'),
  }),
  choices: {
    model: async context => (await context.models()).flatMap(({ id, type }) => (type === 'video' ? id : [])),
  },

  write: ({ idea, budget_usd, model }) => `Make a video of this idea:

${idea}

1. Call models_find with type "video" and ${model ? `use the model \`${model}\`` : 'choose a suitable model'}. Use only values from its record.
2. Write a prompt that describes the scene, the motion and the style.
3. Call estimate for video_create with these arguments and tell me the model, length, format and price. ${budget_usd ? `Continue without asking if it costs at most ${budget_usd} USD; otherwise stop and ask me.` : 'Wait for my approval.'} Then call video_create once with the same arguments.
4. If a result asks for my approval or consent, show me its full text and wait. Never decide for me.
5. Call job_wait until the job is done; "still running" is not an error. If the job fails, tell me why and whether the price was refunded. Do not start another one without asking.
6. Tell me the path of the saved file, the charge and the remaining credit.`,
})
