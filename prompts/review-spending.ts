import { z } from 'zod'
import { definePrompt } from '#toolkit/define.ts'

const periods = ['today', 'the last 7 days', 'everything that is listed'] as const

export default definePrompt({
  name: 'review-spending',
  title: 'Review spending',
  description: 'What the wallet paid and what for, and whether the caps still fit. Free.',
  needs: ['wallet_status', 'wallet_receipts', 'job_list'],
  arguments: z.strictObject({
    period: z.enum(periods).optional().describe('today, the last 7 days, or everything that is listed.'),
  }),
  choices: { period: periods },

  write: ({ period = 'the last 7 days' }) => `Review what was spent: ${period}. Use free tools only, and change nothing.

1. Call wallet_status, wallet_receipts with limit 50 and job_list with limit 50.
2. Show what left the wallet (payments) apart from what services charged (charges); a payment buys credit, and a charge uses it, so never add the two.
3. Group the charges by what was bought and by model, with sums. Name the dearest three.
4. Point out what a person should look at: payments of unknown outcome, charges whose receipt differs or cannot be trusted, jobs that failed without a refund, the same thing bought twice.
5. Say how much of the day's and of the total cap is used, and whether the caps fit how I spend. Only I can change them, in the settings of this server; do not offer to do it.`,
})
